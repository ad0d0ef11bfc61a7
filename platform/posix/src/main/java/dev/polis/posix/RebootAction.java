package dev.polis.posix;

/** What reboot(2) does, by the values in linux/reboot.h. */
public enum RebootAction {
  /** Starts the machine again. */
  RESTART(0x01234567),
  /** Switches the machine off. */
  POWER_OFF(0x4321fedc),
  /** Stops the machine and leaves it on. */
  HALT(0xcdef0123);

  private final int bits;

  RebootAction(int bits) {
    this.bits = bits;
  }

  /** The kernel's number. */
  public int bits() {
    return bits;
  }
}
