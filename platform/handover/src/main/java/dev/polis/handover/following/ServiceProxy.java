package dev.polis.handover.following;

import dev.polis.base.values.Value;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Answers the methods of a contract, or of a result that follows, for the present provider. */
final class ServiceProxy implements InvocationHandler {
  private final Class<?> type;
  private final CallGate gate;
  private final MethodCalls.Owner owner;

  /** The code of each method that was called. */
  private final Map<Method, MethodHandle> codes = new ConcurrentHashMap<>();

  /** Results that follow, by method. */
  private final Map<Method, Object> results = new ConcurrentHashMap<>();

  /** Default methods, and whether the latest provider has one of its own in its place. */
  private final Map<Method, Boolean> overridden = new ConcurrentHashMap<>();

  private ServiceProxy(Class<?> type, CallGate gate, MethodCalls.Owner owner) {
    this.type = type;
    this.gate = gate;
    this.owner = owner;
  }

  /** Makes a proxy of a contract. */
  static Object of(Class<?> contract, CallGate gate) {
    return make(contract, gate, MethodCalls.Owner.PROVIDER);
  }

  private static Object make(Class<?> type, CallGate gate, MethodCalls.Owner owner) {
    return Proxy.newProxyInstance(
        type.getClassLoader(), new Class<?>[] {type}, new ServiceProxy(type, gate, owner));
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getDeclaringClass() == Object.class) {
      return own(proxy, method, arguments);
    }
    if (method.isDefault() && !overridden(method)) {
      return InvocationHandler.invokeDefault(proxy, method, arguments);
    }
    if (method.getReturnType() == Value.class) {
      return new FollowedValue<>(calls(method, arguments));
    }
    if (follows(method)) {
      return results.computeIfAbsent(method, this::result);
    }
    return calls(method, arguments).call();
  }

  private <R> MethodCalls<R> calls(Method method, Object[] arguments) {
    MethodHandle code = codes.computeIfAbsent(method, MethodCalls::code);
    return new MethodCalls<>(gate, owner, method, code, arguments);
  }

  /**
   * Returns whether a default method is the provider's own. While no bundle provides, the answer
   * for the latest provider counts. Without such an answer it is yes: the call then runs whichever
   * method the next provider has.
   */
  private boolean overridden(Method method) throws Throwable {
    ProviderCalls present = gate.latest();
    if (present != null) {
      Class<?> provider = owner.of(present.service()).getClass();
      Method found = provider.getMethod(method.getName(), method.getParameterTypes());
      overridden.put(method, !found.getDeclaringClass().equals(method.getDeclaringClass()));
    }
    return overridden.getOrDefault(method, true);
  }

  /**
   * Returns whether the result of a method is a part of its provider, and no answer: an interface
   * beside the contract, without parameters and without anything that can go wrong.
   */
  private boolean follows(Method method) {
    Class<?> result = method.getReturnType();
    return result.isInterface()
        && !result.isSealed()
        && method.getParameterCount() == 0
        && method.getExceptionTypes().length == 0
        && result.getPackageName().equals(type.getPackageName());
  }

  private Object result(Method method) {
    return make(method.getReturnType(), gate, calls(method, null).result());
  }

  private Object own(Object proxy, Method method, Object[] arguments) {
    return switch (method.getName()) {
      case "equals" -> proxy == arguments[0];
      case "hashCode" -> System.identityHashCode(proxy);
      default -> {
        ProviderCalls present = gate.latest();
        yield type.getSimpleName()
            + (present == null ? " without a provider" : " of " + present.provider());
      }
    };
  }
}
