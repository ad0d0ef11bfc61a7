package dev.polis.rpc;

import com.google.protobuf.Message;
import dev.polis.wire.UnknownFields;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Set;

/**
 * Describes a method of a listener. It stays when the provider of the method goes. Its message
 * classes belong to the platform, so it does not keep the classes of a removed bundle in memory.
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

  /** Stands for a request that the node cannot read, with the status that the caller gets. */
  record Malformed(Status.Code code, String reason) {}

  static CallMethod of(MethodDescriptor<?, ?> method) {
    return new CallMethod(
        method.getServiceName(), tolerant(method), CallRule.of(method), new CallCounters());
  }

  /** Returns the method that stands for all unknown methods; its calls are not audited. */
  static CallMethod unknown(MethodDescriptor<?, ?> method) {
    CallRule rule = new CallRule(method.getFullMethodName(), false, Set.of(), false, false);
    return new CallMethod("", tolerant(method), rule, new CallCounters());
  }

  String name() {
    return descriptor.getFullMethodName();
  }

  /**
   * Returns whether the method takes one request and gives one answer, so that its calls can wait
   * for a provider.
   */
  boolean unary() {
    return descriptor.getType() == MethodDescriptor.MethodType.UNARY;
  }

  /**
   * Refuses a changing request with fields that this node does not know, since the caller would
   * believe that the node did all of it. The node ignores such fields in a read-only request and in
   * a node's report about itself, since during an update a node may be newer than the leader.
   *
   * @throws RpcException INVALID_ARGUMENT, naming the number of each unknown field and its message
   */
  void requireKnownFields(Object request) {
    if (!rule.mutating() || rule.selfReport() || !(request instanceof Message message)) {
      return;
    }
    List<String> unknown = UnknownFields.of(message);
    if (!unknown.isEmpty()) {
      throw RpcException.invalid(
          "unknown: %s; nothing was changed. This node's version does not know that field; send the request without it, or update the node first"
              .formatted(String.join(", ", unknown)));
    }
  }

  boolean oneRequest() {
    return descriptor.getType().clientSendsOneMessage();
  }

  /** Returns whether caller and handler send one message after the other. */
  boolean talks() {
    return descriptor.getType() == MethodDescriptor.MethodType.BIDI_STREAMING;
  }

  boolean oneAnswer() {
    return descriptor.getType().serverSendsOneMessage();
  }

  // The message types belong to the provider and the caller; the router does not look at them.
  @SuppressWarnings("unchecked")
  private static MethodDescriptor<Object, Object> tolerant(MethodDescriptor<?, ?> method) {
    MethodDescriptor<Object, Object> plain = (MethodDescriptor<Object, Object>) method;
    return plain.toBuilder(
            new Tolerant(plain.getRequestMarshaller(), new FieldRules()),
            plain.getResponseMarshaller())
        .build();
  }

  /**
   * Reads a request without throwing: gRPC answers INTERNAL to unreadable bytes, as if the server
   * had failed. It makes no objects of a request whose field is larger than the field's rule
   * allows: the objects would take many times the bytes of the request.
   */
  private record Tolerant(MethodDescriptor.Marshaller<Object> strict, FieldRules sizes)
      implements MethodDescriptor.Marshaller<Object> {
    @Override
    public InputStream stream(Object value) {
      return strict.stream(value);
    }

    @Override
    public Object parse(InputStream bytes) {
      try {
        return parsed(bytes.readAllBytes());
      } catch (StatusRuntimeException tooLarge) {
        // gRPC would answer UNKNOWN to an exception. A compressed request shows its size only here.
        return new Malformed(
            tooLarge.getStatus().getCode(), String.valueOf(tooLarge.getStatus().getDescription()));
      } catch (IOException garbled) {
        return unreadable("the request cannot be decompressed: " + garbled.getMessage());
      }
    }

    private Object parsed(byte[] bytes) {
      try {
        if (strict instanceof MethodDescriptor.PrototypeMarshaller<Object> typed
            && typed.getMessagePrototype() instanceof Message prototype) {
          sizes.check(bytes, prototype.getDescriptorForType());
        }
        return strict.parse(new ByteArrayInputStream(bytes));
      } catch (RpcException tooLarge) {
        return new Malformed(tooLarge.code(), tooLarge.getMessage());
      } catch (IOException | StatusRuntimeException failure) {
        return unreadable("the request is no message of this method's type");
      }
    }

    private static Malformed unreadable(String reason) {
      return new Malformed(Status.Code.INVALID_ARGUMENT, reason);
    }
  }
}
