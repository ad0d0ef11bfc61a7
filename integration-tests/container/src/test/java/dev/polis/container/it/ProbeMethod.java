package dev.polis.container.it;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import org.ops4j.pax.exam.ProbeInvoker;
import org.ops4j.pax.exam.TestContainerException;
import org.osgi.framework.Bundle;

/**
 * Calls a method of a test class inside the framework.
 *
 * @param probe the bundle of the class
 * @param type name of the class
 * @param method name of the method
 */
record ProbeMethod(Bundle probe, String type, String method) implements ProbeInvoker {

  /**
   * @param instruction class and method, {@code class;method}
   */
  static ProbeMethod of(String instruction, Bundle probe) {
    String[] parts = instruction.split(";");
    return new ProbeMethod(probe, parts[0], parts[1]);
  }

  @Override
  public void call(Object... arguments) {
    ClassLoader outside = Thread.currentThread().getContextClassLoader();
    Thread.currentThread().setContextClassLoader(getClass().getClassLoader());
    try {
      invoke(arguments);
    } catch (InvocationTargetException e) {
      throw unchecked(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new TestContainerException(
          type + "." + method + " cannot be called inside the container: " + e, e);
    } finally {
      Thread.currentThread().setContextClassLoader(outside);
    }
  }

  private void invoke(Object... arguments) throws ReflectiveOperationException {
    Class<?> tests = probe.loadClass(type);
    Method found =
        Arrays.stream(tests.getMethods())
            .filter(each -> each.getName().equals(method))
            .findFirst()
            .orElseThrow(() -> new NoSuchMethodException(method));
    boolean common = Modifier.isStatic(found.getModifiers());
    found.invoke(common ? null : tests.getConstructor().newInstance(), arguments);
  }

  /** Types of the runtime and of shared packages pass unchanged; the caller unwraps the others. */
  private static RuntimeException unchecked(Throwable thrown) {
    return switch (thrown) {
      case Error error -> throw error;
      case RuntimeException exception -> exception;
      default -> new TestContainerException(thrown);
    };
  }
}
