package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.UnknownFieldSet;
import dev.polis.pki.Ed25519;
import dev.polis.wire.api.GetNodesRequest;
import dev.polis.wire.api.ManagementGrpc;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import io.grpc.stub.ClientCalls;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sends requests whose fields are larger than their rules allow. */
@Timeout(120)
class RpcFieldSizeTest {
  private final RpcFixture fixture = new RpcFixture();
  private final AtomicInteger handled = new AtomicInteger();
  private List<ServiceDescriptor> services;

  @BeforeEach
  void serve() throws Exception {
    services = AuthorizationMatrixTest.services();
    services.forEach(service -> fixture.host.serve(RpcHost.CURATOR, counting(service)));
  }

  @AfterEach
  void stop() {
    fixture.close();
  }

  private io.grpc.BindableService counting(ServiceDescriptor service) {
    return RpcFixture.serving(
        service,
        method ->
            (call, headers) -> {
              call.request(1);
              return new ServerCall.Listener<>() {
                @Override
                public void onMessage(Message request) {
                  handled.incrementAndGet();
                  call.close(
                      Status.ALREADY_EXISTS.withDescription("reached"), new io.grpc.Metadata());
                }
              };
            });
  }

  private static Descriptor input(MethodDescriptor<?, ?> method) {
    return ((ProtoMethodDescriptorSupplier) method.getSchemaDescriptor())
        .getMethodDescriptor()
        .getInputType();
  }

  /** Lists the paths from a request to each of its fields, also in nested messages. */
  private static List<List<FieldDescriptor>> paths(Descriptor type) {
    List<List<FieldDescriptor>> found = new ArrayList<>();
    collect(type, List.of(), found);
    return found;
  }

  private static void collect(
      Descriptor type, List<FieldDescriptor> before, List<List<FieldDescriptor>> found) {
    for (FieldDescriptor field : type.getFields()) {
      if (before.contains(field)) {
        continue;
      }
      List<FieldDescriptor> path = new ArrayList<>(before);
      path.add(field);
      found.add(path);
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE
          && !FieldRules.needsBytes(field)) {
        collect(field.getMessageType(), path, found);
      }
    }
  }

  @Test
  @DisplayName(
      "every field of every request whose type does not limit its size states its largest size")
  void everyFieldHasARule() {
    List<String> missing = new ArrayList<>();
    for (ServiceDescriptor service : services) {
      for (MethodDescriptor<?, ?> method : service.getMethods()) {
        for (List<FieldDescriptor> path : paths(input(method))) {
          FieldDescriptor field = path.getLast();
          FieldRules.Rule rule = FieldRules.Rule.of(field);
          if (FieldRules.needsBytes(field) && rule.bytes() == 0) {
            missing.add(field.getFullName() + " lacks max_bytes");
          }
          if (field.isRepeated() && rule.items() == 0) {
            missing.add(field.getFullName() + " lacks max_items");
          }
        }
      }
    }
    assertEquals(List.of(), missing.stream().distinct().sorted().toList());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "each field of each method is accepted at its largest size and refused beyond it, with name, size and limit")
  void everyFieldIsChecked() {
    ManagedChannel owner = fixture.asOwner();
    ManagedChannel node = fixture.as(fixture.node());
    List<String> wrong = new ArrayList<>();
    int checked = 0;
    for (ServiceDescriptor service : services) {
      for (MethodDescriptor<?, ?> method : service.getMethods()) {
        ManagedChannel caller =
            send(owner, method, DynamicMessage.getDefaultInstance(input(method))).getCode()
                    == Status.Code.PERMISSION_DENIED
                ? node
                : owner;
        for (List<FieldDescriptor> path : paths(input(method))) {
          FieldDescriptor field = path.getLast();
          FieldRules.Rule rule = FieldRules.Rule.of(field);
          if (rule.bytes() > 0 && field.getJavaType() != FieldDescriptor.JavaType.MESSAGE) {
            checked++;
            compare(caller, method, path, Size.bytes(rule.bytes())).ifPresent(wrong::add);
          }
          if (field.isRepeated()) {
            checked++;
            compare(caller, method, path, Size.items(rule.items())).ifPresent(wrong::add);
          }
        }
      }
    }
    assertEquals(List.of(), wrong);
    assertTrue(checked > 100, "only " + checked + " rules were found");
  }

  /** Holds a size in bytes of one element, or in elements. */
  private record Size(int bytes, int items, int limit) {
    static Size bytes(int limit) {
      return new Size(limit, 1, limit);
    }

    static Size items(int limit) {
      return new Size(0, limit, limit);
    }

    Size beyond() {
      return bytes > 0 ? new Size(bytes + 1, 1, limit) : new Size(0, items + 1, limit);
    }
  }

  private Optional<String> compare(
      ManagedChannel caller,
      MethodDescriptor<?, ?> method,
      List<FieldDescriptor> path,
      Size largest) {
    String where = method.getFullMethodName() + " " + path.getLast().getFullName() + ": ";
    Status fits = send(caller, method, message(input(method), path, largest));
    if (!"reached".equals(fits.getDescription())) {
      return Optional.of(where + "the largest is not taken: " + fits);
    }
    int before = handled.get();
    Status refused = send(caller, method, message(input(method), path, largest.beyond()));
    String words = String.valueOf(refused.getDescription());
    boolean told =
        refused.getCode() == Status.Code.INVALID_ARGUMENT
            && words.contains(path.getLast().getName())
            && words.contains(" has " + (largest.limit() + 1) + " ")
            && words.contains("at most " + largest.limit());
    return told && handled.get() == before
        ? Optional.empty()
        : Optional.of(where + "one more gets " + refused);
  }

  private static Message message(Descriptor type, List<FieldDescriptor> path, Size size) {
    DynamicMessage.Builder built = DynamicMessage.newBuilder(type);
    FieldDescriptor field = path.getFirst();
    if (path.size() > 1) {
      put(built, field, message(field.getMessageType(), path.subList(1, path.size()), size));
      return built.build();
    }
    for (int i = 0; i < size.items(); i++) {
      put(built, field, value(field, size.bytes()));
    }
    return built.build();
  }

  private static void put(DynamicMessage.Builder built, FieldDescriptor field, Object value) {
    if (field.isRepeated()) {
      built.addRepeatedField(field, value);
    } else {
      built.setField(field, value);
    }
  }

  private static Object value(FieldDescriptor field, int bytes) {
    return switch (field.getJavaType()) {
      case STRING -> "x".repeat(bytes);
      case BYTE_STRING -> ByteString.copyFrom(new byte[bytes]);
      case MESSAGE -> DynamicMessage.getDefaultInstance(field.getMessageType());
      default -> field.getDefaultValue();
    };
  }

  private static Status send(
      ManagedChannel channel, MethodDescriptor<?, ?> method, Message request) {
    MethodDescriptor<Message, Message> unary =
        RpcFixture.typed(method).toBuilder().setType(MethodDescriptor.MethodType.UNARY).build();
    Message typed = unary.parseRequest(request.toByteString().newInput());
    return RpcFixture.statusOf(
        () -> ClientCalls.blockingUnaryCall(channel, unary, CallOptions.DEFAULT, typed));
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a small message that is too large after decompression reaches no handler, and others are served")
  void decompressedTooLarge() {
    // Four times the limit of a message; compressed it is a thousandth of this.
    GetNodesRequest bomb =
        GetNodesRequest.newBuilder()
            .setFilter("x".repeat(4 * RpcSettings.Limits.DEFAULT.messageBytes()))
            .build();
    ManagedChannel stranger =
        fixture.channel(RpcClients.ephemeral(Ed25519.generate(), fixture.trust()));
    for (ManagedChannel caller : List.of(stranger, fixture.asOwner())) {
      Status refused =
          RpcFixture.statusOf(
              () ->
                  ClientCalls.blockingServerStreamingCall(
                          caller,
                          ManagementGrpc.getGetNodesMethod(),
                          CallOptions.DEFAULT.withCompression("gzip"),
                          bomb)
                      .hasNext());
      assertEquals(
          caller == stranger ? Status.Code.UNAUTHENTICATED : Status.Code.RESOURCE_EXHAUSTED,
          refused.getCode(),
          refused.toString());
    }
    assertEquals(0, handled.get(), "a handler got it");
    assertEquals("reached", ask("").getDescription());
  }

  @Test
  @DisplayName("letters of several bytes count with all their bytes")
  void lettersOfSeveralBytes() {
    int limit =
        FieldRules.Rule.of(GetNodesRequest.getDescriptor().findFieldByName("filter")).bytes();
    String fits = "é".repeat(limit / 2);
    assertEquals("reached", ask(fits).getDescription());
    Status refused = ask(fits + "é");
    assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
    assertTrue(refused.getDescription().contains("has " + (limit + 2) + " bytes"));
  }

  private Status ask(String filter) {
    return send(
        fixture.asOwner(),
        ManagementGrpc.getGetNodesMethod(),
        GetNodesRequest.newBuilder().setFilter(filter).build());
  }

  @Test
  @DisplayName("unknown fields are bounded together")
  void unknownFields() {
    UnknownFieldSet large =
        UnknownFieldSet.newBuilder()
            .addField(
                900,
                UnknownFieldSet.Field.newBuilder()
                    .addLengthDelimited(ByteString.copyFrom(new byte[100_000]))
                    .build())
            .build();
    Status refused =
        send(
            fixture.asOwner(),
            ManagementGrpc.getGetNodesMethod(),
            GetNodesRequest.newBuilder().setUnknownFields(large).build());
    assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
    assertTrue(refused.getDescription().contains("GetNodesRequest has 100"));
    assertEquals(0, handled.get(), "a handler got it");
  }
}
