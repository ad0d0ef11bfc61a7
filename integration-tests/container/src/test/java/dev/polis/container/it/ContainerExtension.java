package dev.polis.container.it;

import java.lang.reflect.Method;
import java.util.List;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/** Starts a container for a class, and sends its methods there instead of running them here. */
final class ContainerExtension implements BeforeAllCallback, InvocationInterceptor {

  private static final Namespace OURS = Namespace.create(ContainerExtension.class);

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    // The store closes its values after the last method of the class.
    context.getStore(OURS).put(Container.class, Container.start(context.getRequiredTestClass()));
  }

  @Override
  public void interceptBeforeAllMethod(
      Invocation<Void> here, ReflectiveInvocationContext<Method> method, ExtensionContext context)
      throws Throwable {
    inside(here, method, context);
  }

  @Override
  public void interceptTestMethod(
      Invocation<Void> here, ReflectiveInvocationContext<Method> method, ExtensionContext context)
      throws Throwable {
    inside(here, method, context);
  }

  @Override
  public void interceptTestTemplateMethod(
      Invocation<Void> here, ReflectiveInvocationContext<Method> method, ExtensionContext context)
      throws Throwable {
    inside(here, method, context);
  }

  @Override
  public void interceptAfterAllMethod(
      Invocation<Void> here, ReflectiveInvocationContext<Method> method, ExtensionContext context)
      throws Throwable {
    inside(here, method, context);
  }

  @Override
  public void interceptBeforeEachMethod(
      Invocation<Void> here, ReflectiveInvocationContext<Method> method, ExtensionContext context) {
    throw refused(method);
  }

  @Override
  public void interceptAfterEachMethod(
      Invocation<Void> here, ReflectiveInvocationContext<Method> method, ExtensionContext context) {
    throw refused(method);
  }

  private static void inside(
      Invocation<Void> here, ReflectiveInvocationContext<Method> method, ExtensionContext context)
      throws Throwable {
    here.skip();
    context
        .getStore(OURS)
        .get(Container.class, Container.class)
        .call(method.getExecutable(), List.copyOf(method.getArguments()));
  }

  private static ExtensionConfigurationException refused(
      ReflectiveInvocationContext<Method> method) {
    return new ExtensionConfigurationException(
        "%s would see an object that the tests inside the container do not have; call it from them"
            .formatted(method.getExecutable()));
  }
}
