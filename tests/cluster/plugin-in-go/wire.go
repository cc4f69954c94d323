package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
)

// field is a field of a message of protobuf, of bytes or of a message.
func field(number byte, parts ...[]byte) []byte {
	var content []byte
	for _, part := range parts {
		content = append(content, part...)
	}
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content))), content...)
}

// fields are what a message has under a field's number. Messages that a plugin is sent have fields of bytes alone.
func fields(message []byte, number byte) [][]byte {
	var found [][]byte
	for len(message) > 0 {
		key := message[0]
		length, used := binary.Uvarint(message[1:])
		if key&7 != 2 || used <= 0 || length > uint64(len(message)-1-used) {
			return found
		}
		content := message[1+used : 1+used+int(length)]
		message = message[1+used+int(length):]
		if key>>3 == number {
			found = append(found, content)
		}
	}
	return found
}

// framed is a message as gRPC sends it: not compressed, with its length before it.
func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// message reads all that a call brings, which is one message.
func message(body io.Reader) ([]byte, error) {
	all, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return nil, err
	}
	if len(all) < 5 || binary.BigEndian.Uint32(all[1:]) != uint32(len(all)-5) {
		return nil, errors.New("not one message of gRPC")
	}
	return all[5:], nil
}

func answer(w http.ResponseWriter, message []byte) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Write(framed(message))
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
}

func refuse(w http.ResponseWriter, why error) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "3")
	w.Header().Set(http.TrailerPrefix+"Grpc-Message", why.Error())
}
