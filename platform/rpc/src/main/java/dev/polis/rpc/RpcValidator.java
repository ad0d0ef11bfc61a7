package dev.polis.rpc;

import com.google.protobuf.Message;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * A check of requests that concerns more than one handler. Registered as an OSGi service, or with
 * {@link RpcHost#validate}.
 */
@ConsumerType
@FunctionalInterface
public interface RpcValidator {
  /**
   * Looks at one request message. Called by the thread of the call, after authorization and before
   * the handler.
   *
   * @param method full name, {@code package.Service/Method}
   * @param peer who calls
   * @param request the message
   * @throws IllegalArgumentException if the request cannot be served; the caller gets
   *     INVALID_ARGUMENT with the message
   * @throws RpcException to refuse it otherwise
   */
  void validate(String method, RpcPeer peer, Message request);
}
