package dev.polis.rpc;

import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Set;

/**
 * A method as a listener knows it, which outlives those who provide it. Its class of messages comes
 * from the platform, so remembering it does not keep a bundle that went.
 *
 * @param service full name of the service
 * @param descriptor the method, with a request type that also says "not readable"
 * @param rule who may call it
 * @param counters its numbers
 */
record CallMethod(
    String service,
    MethodDescriptor<Object, Object> descriptor,
    CallRule rule,
    CallCounters counters) {

  /** A request that is not what the method takes. */
  record Malformed(String reason) {}

  static CallMethod of(MethodDescriptor<?, ?> method) {
    return new CallMethod(
        method.getServiceName(), tolerant(method), CallRule.of(method), new CallCounters());
  }

  /** Stands for all methods that nobody serves; calls of it are nobody's deed. */
  static CallMethod unknown(MethodDescriptor<?, ?> method) {
    CallRule rule = new CallRule(method.getFullMethodName(), false, Set.of(), false, false);
    return new CallMethod("", tolerant(method), rule, new CallCounters());
  }

  String name() {
    return descriptor.getFullMethodName();
  }

  /** Whether a call of it can wait for its provider: one question, one answer. */
  boolean unary() {
    return descriptor.getType() == MethodDescriptor.MethodType.UNARY;
  }

  boolean oneRequest() {
    return descriptor.getType().clientSendsOneMessage();
  }

  // The types of requests and responses are the provider's and the caller's; the way between them
  // does not look at them.
  @SuppressWarnings("unchecked")
  private static MethodDescriptor<Object, Object> tolerant(MethodDescriptor<?, ?> method) {
    MethodDescriptor<Object, Object> plain = (MethodDescriptor<Object, Object>) method;
    return plain.toBuilder(
            new Tolerant(plain.getRequestMarshaller()), plain.getResponseMarshaller())
        .build();
  }

  /** gRPC answers INTERNAL to bytes it cannot read, as if that were the server's fault. */
  private record Tolerant(MethodDescriptor.Marshaller<Object> strict)
      implements MethodDescriptor.Marshaller<Object> {
    @Override
    public InputStream stream(Object value) {
      return strict.stream(value);
    }

    @Override
    public Object parse(InputStream bytes) {
      try {
        return strict.parse(bytes);
      } catch (StatusRuntimeException unreadable) {
        // The decoder's own limit on size speaks through this exception too.
        if (unreadable.getStatus().getCode() == Status.Code.RESOURCE_EXHAUSTED) {
          throw unreadable;
        }
        drop(bytes);
        return new Malformed("the request is no message of this method's type");
      }
    }

    private static void drop(InputStream bytes) {
      try {
        bytes.skip(Long.MAX_VALUE);
      } catch (IOException e) {
        throw new UncheckedIOException("cannot skip the rest of an unreadable request", e);
      }
    }
  }
}
