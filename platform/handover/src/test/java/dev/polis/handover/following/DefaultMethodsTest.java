package dev.polis.handover.following;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.polis.api.contract.Followed;
import dev.polis.plugins.plan.ManifestHeader;
import dev.polis.plugins.plan.Offer;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Hashtable;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.osgi.framework.BundleContext;

/** Calls the default methods of the node's contracts in a real framework, behind their proxies. */
@Timeout(60)
final class DefaultMethodsTest {
  @TempDir Path folder;

  /** The contracts of the platform, as its own manifest names those that are followed. */
  static List<Class<?>> contracts() throws Exception {
    Path api = Path.of(Followed.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Class<?>> contracts = new ArrayList<>();
    try (JarFile jar = new JarFile(api.toFile())) {
      String provided = jar.getManifest().getMainAttributes().getValue("Provide-Capability");
      for (ManifestHeader.Clause each : ManifestHeader.parse(provided)) {
        if (each.name().equals(Offer.FOLLOWED)) {
          contracts.add(Class.forName(String.valueOf(each.attributes().get("objectClass"))));
        }
      }
    }
    return contracts;
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("contracts")
  @DisplayName(
      "behind the proxy, a default method that the provider overrides runs the provider's code")
  void anOverriddenDefaultIsTheProviders(Class<?> contract) throws Exception {
    try (TestFramework framework =
        new TestFramework(folder, TestFramework.generous(), List.of(contract))) {
      framework
          .bundle("provider", "1.0.0")
          .getBundleContext()
          .registerService(contract.getName(), overriding(contract), new Hashtable<>());
      BundleContext user = framework.user.getBundleContext();

      requireTheProviders(user.getService(user.getServiceReference(contract)), contract);
    }
  }

  @Test
  @DisplayName("the contracts of a node have default methods")
  void thereAreDefaults() throws Exception {
    assertFalse(contracts().stream().flatMap(DefaultMethodsTest::defaults).toList().isEmpty());
  }

  private static void requireTheProviders(Object proxy, Class<?> type) throws Exception {
    for (Method method : defaults(type).toList()) {
      Object[] nothing =
          Arrays.stream(method.getParameterTypes())
              .map(each -> Array.get(Array.newInstance(each, 1), 0))
              .toArray();
      String who;
      try {
        who = "the contract, which returns " + method.invoke(proxy, nothing);
      } catch (InvocationTargetException e) {
        who = String.valueOf(e.getCause().getMessage());
      }
      assertEquals("the provider's " + method, who, "the called methods");
    }
    for (Method method : parts(type).toList()) {
      requireTheProviders(method.invoke(proxy), method.getReturnType());
    }
  }

  private static Stream<Method> defaults(Class<?> type) {
    return Arrays.stream(type.getMethods()).filter(Method::isDefault);
  }

  /** The methods that return a part of their provider, which the proxy follows, too. */
  private static Stream<Method> parts(Class<?> type) {
    return Arrays.stream(type.getMethods())
        .filter(method -> Modifier.isAbstract(method.getModifiers()))
        .filter(method -> method.getParameterCount() == 0)
        .filter(method -> method.getExceptionTypes().length == 0)
        .filter(method -> isPart(type, method.getReturnType()));
  }

  private static boolean isPart(Class<?> type, Class<?> result) {
    return result.isInterface()
        && !result.isSealed()
        && result.getPackageName().equals(type.getPackageName());
  }

  /** Returns a provider that overrides each method of the contract. */
  private static Object overriding(Class<?> type) {
    return Proxy.newProxyInstance(
        type.getClassLoader(),
        new Class<?>[] {type},
        (proxy, method, arguments) -> {
          if (method.isDefault()) {
            throw new IllegalStateException("the provider's " + method);
          }
          if (isPart(type, method.getReturnType())) {
            return overriding(method.getReturnType());
          }
          return switch (method.getName()) {
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == arguments[0];
            case "toString" -> "a provider of " + type.getSimpleName();
            default -> throw new AssertionError("nothing else is called here: " + method);
          };
        });
  }
}
