//! devgate-kubelet
