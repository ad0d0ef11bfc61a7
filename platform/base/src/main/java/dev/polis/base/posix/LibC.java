package dev.polis.base.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.charset.Charset;
import java.util.List;

/**
 * Binds the functions of the C library. The first call of a function links it, so that a node pays
 * only for the functions it calls.
 */
@SuppressWarnings("restricted") // The launcher is started with --enable-native-access.
final class LibC {

  /** A call that needs memory of its own for arguments. */
  @FunctionalInterface
  interface Call {
    int invoke(MemorySegment state, Arena arena) throws Throwable;
  }

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));

  /** The encoding of file names in the JDK's system calls. */
  private static final Charset NAMES =
      Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));

  private LibC() {}

  private static MethodHandle function(
      String name, MemoryLayout result, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(result, arguments),
        Linker.Option.captureCallState("errno"));
  }

  /** Links a function whose arguments from the third on are variable. */
  private static MethodHandle variadic(String name, MemoryLayout... arguments) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(JAVA_INT, arguments),
        Linker.Option.captureCallState("errno"),
        Linker.Option.firstVariadicArg(2));
  }

  static final class Mount {
    static final MethodHandle MOUNT =
        function("mount", JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
    static final MethodHandle UMOUNT2 = function("umount2", JAVA_INT, ADDRESS, JAVA_INT);

    private Mount() {}
  }

  static final class FileSystem {
    static final MethodHandle STATVFS = function("statvfs", JAVA_INT, ADDRESS, ADDRESS);

    private FileSystem() {}
  }

  static final class Device {
    static final MethodHandle OPEN = variadic("open", ADDRESS, JAVA_INT);
    static final MethodHandle IOCTL = variadic("ioctl", JAVA_INT, JAVA_LONG, JAVA_LONG);
    static final MethodHandle CLOSE = function("close", JAVA_INT, JAVA_INT);

    private Device() {}
  }

  static final class Socket {
    static final MethodHandle SOCKET = function("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    static final MethodHandle SETSOCKOPT =
        function("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    static final MethodHandle BIND = function("bind", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    static final MethodHandle SENDTO =
        function("sendto", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT);
    static final MethodHandle RECV =
        function("recv", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);

    private Socket() {}
  }

  static final class Child {
    static final MethodHandle WAITPID = function("waitpid", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);

    private Child() {}
  }

  static final class Priority {
    static final MethodHandle SETPRIORITY =
        function("setpriority", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);

    private Priority() {}
  }

  static final class Host {
    static final MethodHandle SETHOSTNAME = function("sethostname", JAVA_INT, ADDRESS, JAVA_LONG);
    static final MethodHandle REBOOT = function("reboot", JAVA_INT, JAVA_INT);
    static final MethodHandle SYNC =
        LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("sync"), FunctionDescriptor.ofVoid());

    private Host() {}
  }

  static final class Program {
    static final MethodHandle EXECV = function("execv", JAVA_INT, ADDRESS, ADDRESS);
    static final MethodHandle CLOSE_RANGE =
        function("close_range", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);

    private Program() {}
  }

  private static final class Text {
    static final MethodHandle STRERROR =
        LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("strerror"),
            FunctionDescriptor.of(ADDRESS, JAVA_INT));

    private Text() {}
  }

  /**
   * Makes a call that answers with a negative number if it fails.
   *
   * @param name the name of the function, for refusals
   * @param arguments the arguments as readable text
   * @return the answer
   */
  static int call(String name, List<?> arguments, Call call) throws PosixException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int answer = invoke(name, call, state, arena);
      if (answer < 0) {
        throw new PosixException(name, arguments, (int) ERRNO.get(state, 0L));
      }
      return answer;
    }
  }

  private static int invoke(String name, Call call, MemorySegment state, Arena arena) {
    try {
      return call.invoke(state, arena);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(name + " could not be called", e);
    }
  }

  static MemorySegment string(Arena arena, Object text) {
    return arena.allocateFrom(text.toString(), NAMES);
  }

  /** Returns the C library's text for an error number, in the language of this process. */
  static String describe(int number) {
    try {
      MemorySegment text = (MemorySegment) Text.STRERROR.invokeExact(number);
      return text.reinterpret(Long.MAX_VALUE).getString(0, NAMES);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("strerror could not be called", e);
    }
  }
}
