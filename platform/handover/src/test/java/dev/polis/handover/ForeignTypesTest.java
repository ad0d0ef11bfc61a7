package dev.polis.handover;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Hands over values of an organ whose classes have a loader of their own. */
class ForeignTypesTest {
  private static final ClassLoader ORGAN =
      new URLClassLoader(new URL[0], ForeignTypesTest.class.getClassLoader());

  /** Stands for a class of the platform. */
  private record Pair(String name, Object value) {}

  /** Makes an object whose class the organ's loader defines, and whose name does not show it. */
  private static <T> T own(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            ORGAN,
            new Class<?>[] {type},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "hashCode" -> 7;
                  case "equals" -> proxy == arguments[0];
                  default -> throw new AssertionError("nothing else is called here: " + method);
                }));
  }

  static Stream<Arguments> ownValues() {
    Runnable own = own(Runnable.class);
    return Stream.<Object>of(
            own,
            List.of("a", List.of(own)),
            Map.of("a", own),
            Map.of(own, "a"),
            Optional.of(own),
            new Object[] {"a", own},
            java.lang.reflect.Array.newInstance(own.getClass(), 0),
            java.lang.reflect.Array.newInstance(own.getClass(), 0, 0),
            new Pair("a", own),
            new Pair("a", Optional.of(new Pair("b", new Object[] {own}))))
        .map(each -> Arguments.of(each));
  }

  @ParameterizedTest
  @MethodSource("ownValues")
  @DisplayName("a value of a class of the organ's loader is refused, anywhere in the state")
  void ownClassesAreRefused(Object value) {
    OrganState state = OrganState.NONE.with("place", value);
    String refusal =
        assertThrows(
                HandOverException.class,
                () -> state.requireForeignTypes("curator", own(OrganInstance.class)))
            .getMessage();
    assertTrue(refusal.startsWith("curator gives \"place\" as a "), refusal);
    assertTrue(refusal.contains("a class of its own"), refusal);
  }

  @Test
  @DisplayName(
      "values of the platform and of other bundles are accepted, also one that contains itself")
  void foreignClassesAreTaken() {
    Object[] itself = {"a", 1, new int[] {1}, Optional.empty(), new Pair("b", null), null};
    itself[5] = itself;
    OrganState state = OrganState.NONE.with("place", (Object) itself).with("pair", new Pair("", 1));
    assertDoesNotThrow(() -> state.requireForeignTypes("curator", own(OrganInstance.class)));
  }
}
