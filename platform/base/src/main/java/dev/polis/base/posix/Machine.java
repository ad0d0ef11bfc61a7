package dev.polis.base.posix;

import java.io.IOException;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Names, restarts and switches off the machine; process 1 does this for a machine of its own. */
public final class Machine {

  /** Lists the actions of reboot(2), with the values in linux/reboot.h. */
  public enum Reboot {
    /** Restarts the machine. */
    RESTART(0x01234567),
    /** Switches the machine off. */
    POWER_OFF(0x4321fedc);

    private final int bits;

    Reboot(int bits) {
      this.bits = bits;
    }
  }

  private static final Path SELF = Path.of("/proc/self");
  private static final Path HOST_NAME = Path.of("/proc/sys/kernel/hostname");

  private Machine() {}

  /** Returns whether this process is process 1 of its machine or container. */
  public static boolean isFirstProcess() {
    return ProcessHandle.current().pid() == 1;
  }

  /** Returns the effective user number of this process; 0 is root. */
  public static int effectiveUser() throws IOException {
    // The owner of /proc/self is the effective user, unlike the user name of the environment.
    return (Integer) Files.getAttribute(SELF, "unix:uid");
  }

  /**
   * Returns whether the interface is up through which programs of this machine reach each other, at
   * whichever of its addresses.
   */
  public static boolean loopbackIsUp() throws IOException {
    NetworkInterface loopback = NetworkInterface.getByName("lo");
    return loopback != null && loopback.isUp();
  }

  /** Returns the host name of this process's namespace. */
  public static String hostName() throws IOException {
    return Files.readString(HOST_NAME).strip();
  }

  /**
   * Sets the host name of the calling thread's namespace.
   *
   * @param name at most 64 bytes
   */
  public static void hostName(String name) throws PosixException {
    LibC.call(
        "sethostname",
        List.of(name),
        (state, arena) ->
            (int)
                LibC.Host.SETHOSTNAME.invokeExact(
                    state,
                    LibC.string(arena, name),
                    (long) name.getBytes(StandardCharsets.UTF_8).length));
  }

  /**
   * Writes the file buffers to the disks and ends the machine. In a container's namespace the
   * kernel ends the container instead. Returns only by throwing.
   */
  public static void reboot(Reboot action) throws PosixException {
    LibC.call(
        "reboot",
        List.of(action),
        (state, _) -> {
          LibC.Host.SYNC.invokeExact();
          return (int) LibC.Host.REBOOT.invokeExact(state, action.bits);
        });
  }
}
