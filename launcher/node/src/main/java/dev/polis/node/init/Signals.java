package dev.polis.node.init;

import java.lang.reflect.Proxy;
import java.util.function.Consumer;

/**
 * Takes signals from the operating system. The JDK offers nothing else that tells SIGTERM from
 * SIGINT than the types of {@code jdk.unsupported} used here; they are reached by name because the
 * compiler warns about each mention, and its warnings are errors here.
 */
public final class Signals {
  private Signals() {}

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
