package dev.polis.posix;

/** Namespaces that a thread can have for itself, by their values in linux/sched.h. */
public enum Namespace {
  /** What is mounted. */
  MOUNT(0x00020000),
  /** The host name. */
  HOSTNAME(0x04000000),
  /** Interfaces, addresses and ports. */
  NETWORK(0x40000000);

  private final int bits;

  Namespace(int bits) {
    this.bits = bits;
  }

  /** The kernel's number. */
  public int bits() {
    return bits;
  }
}
