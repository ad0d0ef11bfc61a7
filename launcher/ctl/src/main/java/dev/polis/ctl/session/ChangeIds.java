package dev.polis.ctl.session;

import dev.polis.rpc.RequestId;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcMethods;
import dev.polis.wire.cluster.ChangesGrpc;
import dev.polis.wire.cluster.GetChangeMemoryRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.security.SecureRandom;
import java.time.Duration;

/**
 * Gives each change at a curator an id, by which the leader applies a repeated change once. Before
 * each attempt it asks the curator whether it remembers this kind of change: one of an older
 * version would apply the change again. Safe for any thread; a session makes one change at a time.
 */
final class ChangeIds implements ClientInterceptor {

  /** The longest time for which a change is repeated: half of that for which it is remembered. */
  static final Duration PATIENCE = Duration.ofMinutes(5);

  private RequestId id = RequestId.first(new SecureRandom()); // guarded by this
  private long began; // guarded by this
  private boolean remembered; // guarded by this
  private boolean asked; // true once a curator was asked for the change; guarded by this
  private boolean lost; // guarded by this

  /** Begins another change: the calls from now on have another id. */
  synchronized void next() {
    id = id.next();
    began = System.nanoTime();
    asked = false;
    remembered = false;
    lost = false;
  }

  /** Returns whether the change may be repeated, although it may have been made. */
  synchronized boolean mayRepeat() {
    return remembered && System.nanoTime() - began < PATIENCE.toNanos();
  }

  /** Notes that the answer was lost, so that the change may have been made. */
  synchronized void lost() {
    lost = asked;
  }

  synchronized boolean wasLost() {
    return lost;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    if (RpcMethods.readsOnly(method) || method.getType() != MethodType.UNARY) {
      return next.newCall(method, options);
    }
    try {
      RequestId chosen = prepared(isRemembered(method, options, next));
      return new CheckedForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        protected void checkedStart(Listener<A> listener, Metadata headers) {
          headers.put(RequestId.HEADER, chosen.text());
          delegate().start(listener, headers);
        }
      };
    } catch (StatusRuntimeException away) {
      // The change was not sent, and fails as the question has failed.
      return failed(next.newCall(method, options), away);
    }
  }

  private synchronized RequestId prepared(boolean nowRemembered) {
    if (lost && !nowRemembered) {
      // Its curator may be starting; another node may lead meanwhile.
      Metadata again = new Metadata();
      again.put(RpcException.RETRY_DELAY, "0");
      throw Status.UNAVAILABLE
          .withDescription("its version does not remember changes, and would make this one again")
          .asRuntimeException(again);
    }
    asked = true;
    remembered = nowRemembered;
    return id;
  }

  private static boolean isRemembered(
      MethodDescriptor<?, ?> method, CallOptions options, Channel curator) {
    try {
      return ClientCalls.blockingUnaryCall(
              curator,
              ChangesGrpc.getGetChangeMemoryMethod(),
              options,
              GetChangeMemoryRequest.getDefaultInstance())
          .getMethodsList()
          .contains(method.getFullMethodName());
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() == Status.Code.UNIMPLEMENTED) {
        return false;
      }
      throw e;
    }
  }

  private static <Q, A> ClientCall<Q, A> failed(
      ClientCall<Q, A> call, StatusRuntimeException failure) {
    return new CheckedForwardingClientCall<>(call) {
      @Override
      protected void checkedStart(Listener<A> listener, Metadata headers) throws StatusException {
        throw new StatusException(failure.getStatus(), failure.getTrailers());
      }
    };
  }
}
