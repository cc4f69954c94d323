# Loop devices of the kernel's, with nothing behind them: what is behind one would make it the node's own. DIR/disks has an empty file for each.
import fcntl, os, sys, time

ADD, REMOVE = 0x4C80, 0x4C81


def add(control, folder, number):
    number = fcntl.ioctl(control, ADD, number)
    open(os.path.join(folder, str(number)), "w").close()
    return number


def remove(control, number):
    for _ in range(100):
        try:
            fcntl.ioctl(control, REMOVE, number)
        except OSError:
            pass  # It is open, or not there.
        if not os.path.exists(f"/dev/loop{number}"):
            return
        time.sleep(0.1)
    sys.exit(f"/dev/loop{number} is in use and was not taken away")


verb, folder, *numbers = sys.argv[1:]
control = os.open("/dev/loop-control", os.O_RDWR)
disks = os.path.join(folder, "disks")
if verb == "make":
    os.makedirs(disks, exist_ok=True)
    for _ in range(int(numbers[0])):
        print(add(control, disks, -1))
elif verb == "add":
    add(control, disks, int(numbers[0]))
elif verb == "remove":
    remove(control, int(numbers[0]))
elif verb == "end" and os.path.isdir(disks):
    for name in os.listdir(disks):
        remove(control, int(name))
