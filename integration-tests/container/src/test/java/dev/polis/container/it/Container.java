package dev.polis.container.it;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.params.ParameterizedTest;
import org.ops4j.pax.exam.ExamSystem;
import org.ops4j.pax.exam.TestAddress;
import org.ops4j.pax.exam.TestContainer;
import org.ops4j.pax.exam.TestContainerException;
import org.ops4j.pax.exam.TestProbeBuilder;
import org.ops4j.pax.exam.spi.DefaultExamSystem;
import org.ops4j.pax.exam.spi.PaxExamRuntime;
import org.osgi.framework.Constants;

/** Runs a framework with the distribution's bundles and a probe with the tests of one class. */
final class Container implements AutoCloseable {

  /** Kept, since an unreferenced logger forgets its level. */
  private static final Logger CONTAINER_LOG =
      Logger.getLogger("org.ops4j.pax.exam.nat.internal.NativeTestContainer");

  private final TestContainer container;
  private final Map<Method, TestAddress> addresses;

  private Container(TestContainer container, Map<Method, TestAddress> addresses) {
    this.container = container;
    this.addresses = addresses;
  }

  /**
   * Starts a framework and installs the tests in it.
   *
   * @throws IOException if the distribution or the probe cannot be read or written
   * @throws TestContainerException if the framework does not start
   */
  static Container start(Class<?> tests) throws IOException {
    ContainerOptions options =
        new ContainerOptions(property("polis.distribution"), property("polis.scratch"));
    // Uses no defaults for tests, which would add bundles of their own, among them one that
    // captures the log and offers another SLF4J.
    ExamSystem system = DefaultExamSystem.create(options.all());
    TestProbeBuilder probe = system.createProbe();
    probe.setHeader(Constants.BUNDLE_ACTIVATOR, ProbeActivator.class.getName());
    Map<Method, TestAddress> addresses = new HashMap<>();
    for (Method method : tests.getDeclaredMethods()) {
      if (runsInside(method)) {
        requirePublic(method);
        addresses.put(method, probe.addTest(tests, method.getName()));
      }
    }
    // Pax Exam reports each bundle that is started later as broken.
    CONTAINER_LOG.setLevel(Level.OFF);
    TestContainer container = PaxExamRuntime.createContainer(system);
    container.start();
    try (InputStream bundle = probe.build().getStream()) {
      if (container.installProbe(bundle) < 0) {
        // Pax Exam has printed the reason.
        throw new TestContainerException(
            "the bundle with the tests of " + tests + " did not start");
      }
    } catch (IOException | RuntimeException e) {
      container.stop();
      throw e;
    }
    return new Container(container, Map.copyOf(addresses));
  }

  /**
   * Runs a method inside the framework.
   *
   * @param arguments of types of the Java runtime
   * @throws Throwable the exception of the method
   */
  void call(Method method, List<Object> arguments) throws Throwable {
    try {
      container.call(new Call(addresses.get(method), arguments));
    } catch (TestContainerException e) {
      // The probe wraps checked exceptions in this one.
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  @Override
  public void close() {
    container.stop();
  }

  private static boolean runsInside(Method method) {
    return List.of(Test.class, ParameterizedTest.class, BeforeAll.class, AfterAll.class).stream()
        .anyMatch(method::isAnnotationPresent);
  }

  private static void requirePublic(Method method) {
    boolean alone =
        Arrays.stream(method.getDeclaringClass().getDeclaredMethods())
            .noneMatch(other -> !other.equals(method) && other.getName().equals(method.getName()));
    int needed = Modifier.PUBLIC;
    if ((method.getModifiers() & method.getDeclaringClass().getModifiers() & needed) == 0
        || !alone) {
      throw new ExtensionConfigurationException(
          method
              + " cannot be called inside the container: its class and it must be public, and its name unique");
    }
  }

  private static Path property(String name) {
    String value = System.getProperty(name);
    if (value == null) {
      throw new ExtensionConfigurationException(
          "the system property " + name + " is not set: run the test through Maven");
    }
    return Path.of(value);
  }

  /** Holds a method of the probe with the arguments of one call. */
  private record Call(TestAddress method, List<Object> values) implements TestAddress {
    @Override
    public String identifier() {
      return method.identifier();
    }

    @Override
    public String caption() {
      return method.caption();
    }

    @Override
    public TestAddress root() {
      return method.root();
    }

    @Override
    public Object[] arguments() {
      return values.toArray();
    }
  }
}
