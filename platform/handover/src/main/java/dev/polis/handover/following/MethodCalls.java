package dev.polis.handover.following;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.function.Function;

/**
 * Calls one method of the present provider, or of an object that it returns.
 *
 * @param gate leads to the provider
 * @param owner finds the object whose method it is
 * @param method what is called
 * @param code calls the method of a target, with an array of arguments: {@link #code(Method)}
 * @param arguments what it is called with; null if it has no parameters, as reflection has it
 * @param <R> what it returns
 */
record MethodCalls<R>(
    CallGate gate, Owner owner, Method method, MethodHandle code, Object[] arguments) {

  private static final MethodType CODE =
      MethodType.methodType(Object.class, Object.class, Object[].class);

  /** Finds an object of a provider. */
  @FunctionalInterface
  interface Owner {
    /** Leads to the provider itself. */
    Owner PROVIDER = service -> service;

    /**
     * Finds the object.
     *
     * @throws Throwable what the provider throws
     */
    Object of(Object service) throws Throwable;
  }

  /**
   * Returns the code of a method. Unlike {@link Method#invoke} it never calls by native code, which
   * would keep the carrier of a virtual thread while the method waits.
   */
  static MethodHandle code(Method method) {
    try {
      return MethodHandles.lookup()
          .unreflect(method)
          .asFixedArity()
          .asSpreader(Object[].class, method.getParameterCount())
          .asType(CODE);
    } catch (IllegalAccessException hidden) {
      throw new IllegalStateException(method + " of a followed contract is not public", hidden);
    }
  }

  /**
   * Calls the method.
   *
   * @throws Throwable what the provider throws, and what {@link CallGate#enter(String)} throws
   */
  R call() throws Throwable {
    ProviderCalls calls = enter(gate::enter);
    try {
      return on(calls);
    } finally {
      gate.leave(calls);
    }
  }

  /** Calls the method, which returns a value and throws nothing checked, and looks at the value. */
  <T> T call(Function<R, T> look) {
    try {
      ProviderCalls calls = enter(gate::enterForValue);
      try {
        return look.apply(on(calls));
      } finally {
        gate.leave(calls);
      }
    } catch (RuntimeException | Error unchecked) {
      throw unchecked;
    } catch (Throwable checked) {
      throw new IllegalStateException(this + " declares no exception and threw one", checked);
    }
  }

  /** Counts a call in, after waiting for a provider. */
  @FunctionalInterface
  private interface Entrance {
    ProviderCalls enter(String method) throws InterruptedException;
  }

  private ProviderCalls enter(Entrance entrance) throws InterruptedException {
    try {
      return entrance.enter(method.getName());
    } catch (InterruptedException e) {
      if (Arrays.asList(method.getExceptionTypes()).contains(InterruptedException.class)) {
        throw e;
      }
      // The caller is not prepared for it; its next wait will end.
      Thread.currentThread().interrupt();
      throw new ServiceAwayException(this + " was interrupted while it waited for a provider");
    }
  }

  /** Calls the method of a provider that the call has entered. */
  @SuppressWarnings("unchecked") // R is the method's own type, which reflection does not know.
  R on(ProviderCalls calls) throws Throwable {
    return (R) (Object) code.invokeExact(owner.of(calls.service()), arguments);
  }

  /** Returns a way to what this method returns. */
  Owner result() {
    return service -> (Object) code.invokeExact(owner.of(service), arguments);
  }

  @Override
  public String toString() {
    return method.getDeclaringClass().getSimpleName() + "." + method.getName();
  }
}
