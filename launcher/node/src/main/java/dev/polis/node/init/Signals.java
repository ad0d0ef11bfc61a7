package dev.polis.node.init;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Takes signals from the operating system. The JDK offers nothing else that tells SIGTERM from
 * SIGINT than the types of {@code jdk.unsupported} used here; they are reached by name because the
 * compiler warns about each mention, and its warnings are errors here.
 */
public final class Signals {
  /** The place of the controlling terminal's number in /proc/PID/stat, counted from the state. */
  private static final int TERMINAL = 4;

  private Signals() {}

  /** Returns whether this process has a terminal, whose end comes as SIGHUP. */
  public static boolean hasTerminal() {
    try {
      String line = Files.readString(Path.of("/proc/self/stat"), StandardCharsets.ISO_8859_1);
      // The program's name is in parentheses and may contain spaces and parentheses.
      return !line.substring(line.lastIndexOf(')') + 2).split(" ")[TERMINAL].equals("0");
    } catch (IOException unknown) {
      return true; // A node without its terminal ends, which its user may expect.
    }
  }

  /**
   * @param name without SIG: {@code "TERM"}
   * @param action gets the name; runs in a thread of its own for each signal
   * @throws IllegalStateException if the signal can not be taken
   */
  public static void on(String name, Consumer<String> action) {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object proxy =
          Proxy.newProxyInstance(
              Signals.class.getClassLoader(),
              new Class<?>[] {handler},
              (self, method, arguments) -> {
                if (method.getName().equals("handle")) {
                  action.accept(name);
                  return null;
                }
                // The JDK keeps handlers in a table, so a proxy has to be an object among objects.
                return switch (method.getName()) {
                  case "hashCode" -> System.identityHashCode(self);
                  case "equals" -> self == arguments[0];
                  default -> "handler of SIG" + name;
                };
              });
      signal
          .getMethod("handle", signal, handler)
          .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "SIG" + name + " can not be taken; is the module jdk.unsupported missing?", e);
    }
  }
}
