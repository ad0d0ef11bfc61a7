package dev.polis.posix.jnr;

import dev.polis.posix.MountFlag;
import dev.polis.posix.Namespace;
import dev.polis.posix.Posix;
import dev.polis.posix.PosixException;
import dev.polis.posix.RebootAction;
import dev.polis.posix.UnmountFlag;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import jnr.ffi.LibraryLoader;
import jnr.ffi.Runtime;
import org.osgi.service.component.annotations.Component;

/** The kernel by way of libc. */
@Component(service = Posix.class)
public final class JnrPosix implements Posix {
  /** HOST_NAME_MAX of Linux, and the closing zero. */
  private static final int HOST_NAME_BYTES = 65;

  private static final int WNOHANG = 1;
  private static final int ANY_CHILD = -1;

  /** Loaded with the first call. */
  private static final class Native {
    static final LibC LIBC = LibraryLoader.create(LibC.class).load("c");
    static final Runtime RUNTIME = Runtime.getRuntime(LIBC);
  }

  /** Nothing is loaded yet. */
  public JnrPosix() {}

  @Override
  public void mount(String source, Path target, String type, Set<MountFlag> flags, String data) {
    long bits = flags.stream().mapToLong(MountFlag::bits).reduce(0, (a, b) -> a | b);
    int result =
        Native.LIBC.mount(source, target.toString(), type, bits, data.isEmpty() ? null : data);
    check(result, "mount", source, target, type, flags, data);
  }

  @Override
  public void unmount(Path target, Set<UnmountFlag> flags) {
    int bits = flags.stream().mapToInt(UnmountFlag::bits).reduce(0, (a, b) -> a | b);
    check(Native.LIBC.umount2(target.toString(), bits), "umount", target, flags);
  }

  @Override
  public String hostname() {
    byte[] name = new byte[HOST_NAME_BYTES];
    check(Native.LIBC.gethostname(name, name.length), "gethostname");
    int end = 0;
    while (end < name.length && name[end] != 0) {
      end++;
    }
    return new String(name, 0, end, StandardCharsets.UTF_8);
  }

  @Override
  public void setHostname(String name) {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    if (bytes.length >= HOST_NAME_BYTES) {
      throw failure("ENAMETOOLONG", "longer than 64 bytes", "sethostname", name);
    }
    check(Native.LIBC.sethostname(bytes, bytes.length), "sethostname", name);
  }

  @Override
  public int effectiveUserId() {
    return Native.LIBC.geteuid();
  }

  @Override
  public int processId() {
    return Native.LIBC.getpid();
  }

  @Override
  public void unshare(Set<Namespace> namespaces) {
    if (Thread.currentThread().isVirtual()) {
      throw new IllegalStateException(
          "unshare(%s) on a virtual thread would move whatever carries it; use Thread.ofPlatform()"
              .formatted(namespaces));
    }
    int bits = namespaces.stream().mapToInt(Namespace::bits).reduce(0, (a, b) -> a | b);
    check(Native.LIBC.unshare(bits), "unshare", namespaces);
  }

  @Override
  public Optional<Reaped> reap(long pid) {
    int[] status = new int[1];
    int result = Native.LIBC.waitpid(Math.toIntExact(pid), status, WNOHANG);
    check(result, "waitpid", pid);
    return reaped(result, status[0]);
  }

  @Override
  public Optional<Reaped> reapAny() {
    int[] status = new int[1];
    int result = Native.LIBC.waitpid(ANY_CHILD, status, WNOHANG);
    if (result < 0 && errno() == jnr.constants.platform.Errno.ECHILD) {
      return Optional.empty();
    }
    check(result, "waitpid", ANY_CHILD);
    return reaped(result, status[0]);
  }

  private static Optional<Reaped> reaped(int pid, int status) {
    if (pid == 0) {
      return Optional.empty();
    }
    // wait(2): the low seven bits hold the signal, the next byte the code.
    int signal = status & 0x7f;
    int code = signal == 0 ? (status >> 8) & 0xff : 128 + signal;
    return Optional.of(new Reaped(pid, code));
  }

  @Override
  public void sync() {
    Native.LIBC.sync();
  }

  @Override
  public void reboot(RebootAction action) {
    check(Native.LIBC.reboot(action.bits()), "reboot", action);
  }

  private static jnr.constants.platform.Errno errno() {
    return jnr.constants.platform.Errno.valueOf(Native.RUNTIME.getLastError());
  }

  private static void check(int result, String call, Object... arguments) {
    if (result < 0) {
      var errno = errno();
      throw failure(errno.name(), errno.description(), call, arguments);
    }
  }

  private static PosixException failure(
      String errno, String description, String call, Object... arguments) {
    List<String> words = Arrays.stream(arguments).map(Object::toString).toList();
    return new PosixException(call, words, errno, description, Errno.remedy(errno, call));
  }
}
