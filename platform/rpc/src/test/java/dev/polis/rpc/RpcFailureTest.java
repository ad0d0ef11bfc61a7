package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.ConfigureClusterResponse;
import dev.polis.wire.api.ManagementGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RpcFailureTest {
  private final RpcFixture fixture = new RpcFixture();

  @AfterEach
  void stop() {
    fixture.close();
  }

  /** Throws the failure that the test sets. */
  private static final class Failing extends ManagementGrpc.ManagementImplBase {
    private Optional<Throwable> failure = Optional.empty();

    @Override
    public void configureCluster(
        ConfigureClusterRequest request, StreamObserver<ConfigureClusterResponse> observer) {
      if (failure.isPresent()) {
        Failing.<RuntimeException>sneak(failure.get());
      }
      observer.onNext(ConfigureClusterResponse.getDefaultInstance());
      observer.onCompleted();
    }

    // Handlers may throw undeclared exceptions.
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void sneak(Throwable failure) throws E {
      throw (E) failure;
    }
  }

  private static Status configure(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            ManagementGrpc.newBlockingStub(channel)
                .configureCluster(ConfigureClusterRequest.getDefaultInstance()));
  }

  @Test
  @DisplayName(
      "D-03 an exception of a handler ends its call with the right code, and the host keeps serving")
  void d03_exceptionsAreMapped() {
    Failing service = new Failing();
    fixture.host.serve(RpcHost.CURATOR, service);
    ManagedChannel owner = fixture.asOwner();

    service.failure =
        Optional.of(new IllegalArgumentException("update_mask is missing; name the fields"));
    Status invalid = configure(owner);
    service.failure = Optional.of(RpcException.unavailable("busy", Duration.ofSeconds(3)));
    Status unavailable = configure(owner);
    service.failure =
        Optional.of(Status.FAILED_PRECONDITION.withDescription("not yet").asRuntimeException());
    Status precondition = configure(owner);
    service.failure = Optional.of(new NullPointerException("secret detail"));
    Status defect = configure(owner);
    service.failure = Optional.of(new StackOverflowError());
    Status error = configure(owner);
    service.failure = Optional.empty();

    assertAll(
        () -> assertEquals(Status.Code.INVALID_ARGUMENT, invalid.getCode()),
        () -> assertEquals("update_mask is missing; name the fields", invalid.getDescription()),
        () -> assertEquals(Status.Code.UNAVAILABLE, unavailable.getCode()),
        () -> assertEquals("not yet", precondition.getDescription()),
        () -> assertEquals(Status.Code.INTERNAL, defect.getCode()),
        () -> assertFalse(defect.getDescription().contains("secret detail")),
        () -> assertEquals(Status.Code.INTERNAL, error.getCode()),
        () -> assertTrue(configure(owner).isOk()));
  }

  @Test
  @DisplayName(
      "a refusal that quotes a huge value is cut, and other calls of the connection continue")
  void longWordsAreCut() {
    Failing service = new Failing();
    fixture.host.serve(RpcHost.CURATOR, service);
    ManagedChannel owner = fixture.asOwner();
    assertTrue(configure(owner).isOk());

    for (String huge : new String[] {"x".repeat(100_000), "\u00fc%\ud83d\ude00\n".repeat(50_000)}) {
      service.failure =
          Optional.of(RpcException.invalid("label \"" + huge + "\" is too long; shorten it"));
      Status refused = configure(owner);
      assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode(), refused.toString());
      assertTrue(refused.getDescription().startsWith("label \"" + huge.substring(0, 100)));
      assertTrue(refused.getDescription().endsWith("\" is too long; shorten it"));
      assertTrue(refused.getDescription().length() < 5000);
    }
    service.failure = Optional.of(RpcException.invalid("x".repeat(4096)));
    assertEquals("x".repeat(4096), configure(owner).getDescription());
    service.failure = Optional.empty();
    assertTrue(configure(owner).isOk());
  }

  @Test
  @DisplayName("an internal error is reported with a reference, under which the log has its stack")
  void defectsAreLoggedByReference() {
    Failing service = new Failing();
    service.failure = Optional.of(new IllegalStateException("boom"));
    fixture.host.serve(RpcHost.CURATOR, service);

    String told = configure(fixture.asOwner()).getDescription();
    String reference = told.substring(told.lastIndexOf(' ') + 1);

    assertTrue(
        fixture.log("rpc").stream()
            .anyMatch(
                line ->
                    line.contains(reference)
                        && line.contains("IllegalStateException: boom")
                        && line.contains("defectsAreLoggedByReference")),
        () -> String.join("\n", fixture.log("rpc")));
  }

  @Test
  @DisplayName(
      "requests that are invalid, too many or missing are the caller's fault, never INTERNAL")
  void badRequestsAreInvalid() throws Exception {
    fixture.host.serve(RpcHost.CURATOR, new Failing());
    ManagedChannel owner = fixture.asOwner();

    assertAll(
        () ->
            assertEquals(
                Status.Code.INVALID_ARGUMENT, raw(owner, new byte[] {(byte) 0xff}), "malformed"),
        () -> assertEquals(Status.Code.INVALID_ARGUMENT, raw(owner), "none"),
        // gRPC itself resets a call of this kind with two requests.
        () -> assertEquals(Status.Code.CANCELLED, raw(owner, new byte[0], new byte[0]), "two"),
        () -> assertEquals(Status.Code.OK, raw(owner, new byte[0])),
        () -> assertTrue(configure(owner).isOk()));
  }

  @Test
  @DisplayName("random bytes to every method of every service never give INTERNAL or UNKNOWN")
  void fuzzedRequestsAreNeverInternal() throws Exception {
    for (ServiceDescriptor service : AuthorizationMatrixTest.services()) {
      fixture.host.serve(
          RpcHost.CURATOR,
          RpcFixture.serving(
              service,
              method ->
                  io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
                      observer ->
                          new StreamObserver<Message>() {
                            @Override
                            public void onNext(Message value) {}

                            @Override
                            public void onError(Throwable t) {}

                            @Override
                            public void onCompleted() {
                              observer.onError(Status.ABORTED.asRuntimeException());
                            }
                          })));
    }
    ManagedChannel owner = fixture.asOwner();
    Random random = new Random(7);
    for (ServiceDescriptor service : AuthorizationMatrixTest.services()) {
      for (MethodDescriptor<?, ?> method : service.getMethods()) {
        for (int i = 0; i < 5; i++) {
          byte[] bytes = new byte[random.nextInt(64)];
          random.nextBytes(bytes);
          Status.Code code = raw(owner, method.getFullMethodName(), bytes);
          assertNotEquals(Status.Code.INTERNAL, code, method.getFullMethodName());
          assertNotEquals(Status.Code.UNKNOWN, code, method.getFullMethodName());
        }
      }
    }
  }

  @Test
  @DisplayName("a request larger than allowed is RESOURCE_EXHAUSTED")
  void largeRequestsAreRefused() throws Exception {
    fixture.host.serve(RpcHost.CURATOR, new Failing());
    int tooLarge = RpcSettings.Limits.DEFAULT.messageBytes() + 1;
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, raw(fixture.asOwner(), new byte[tooLarge]));
  }

  private static Status.Code raw(ManagedChannel channel, byte[]... requests) throws Exception {
    return raw(channel, "metropolis.proto.api.Management/ConfigureCluster", requests);
  }

  /** Sends each of the byte arrays as one request, unchanged. */
  private static Status.Code raw(ManagedChannel channel, String method, byte[]... requests)
      throws Exception {
    CompletableFuture<Status> ended = new CompletableFuture<>();
    ClientCall<byte[], byte[]> call =
        channel.newCall(
            MethodDescriptor.newBuilder(new Bytes(), new Bytes())
                .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                .setFullMethodName(method)
                .build(),
            CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            ended.complete(status);
          }
        },
        new Metadata());
    call.request(2);
    for (byte[] request : requests) {
      call.sendMessage(request);
    }
    call.halfClose();
    return ended.get(10, TimeUnit.SECONDS).getCode();
  }

  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
