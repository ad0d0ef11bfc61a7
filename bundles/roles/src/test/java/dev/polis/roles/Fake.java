package dev.polis.roles;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.Callable;

/** Makes services of other organs that answer a few methods and fail the test for all others. */
final class Fake {

  private Fake() {}

  static <T> T of(Class<T> contract) {
    return of(contract, Map.of());
  }

  static <T> T of(Class<T> contract, String method, Callable<?> answer) {
    return of(contract, Map.of(method, answer));
  }

  static <T> T of(
      Class<T> contract, String first, Callable<?> answer, String second, Callable<?> other) {
    return of(contract, Map.of(first, answer, second, other));
  }

  private static <T> T of(Class<T> contract, Map<String, Callable<?>> answers) {
    return contract.cast(
        Proxy.newProxyInstance(
            Fake.class.getClassLoader(),
            new Class<?>[] {contract},
            (self, method, arguments) -> {
              Callable<?> answer = answers.get(method.getName());
              if (answer == null && method.isDefault()) {
                return InvocationHandler.invokeDefault(self, method, arguments);
              }
              if (answer == null) {
                throw new AssertionError("%s is not to be asked".formatted(method));
              }
              return answer.call();
            }));
  }
}
