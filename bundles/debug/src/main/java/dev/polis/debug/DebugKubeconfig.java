package dev.polis.debug;

import dev.polis.api.kubeconfig.KubeconfigIssuer;
import dev.polis.rpc.RpcException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** Issues credentials of Kubernetes if an operator allows it. Thread-safe. */
final class DebugKubeconfig {

  private static final Duration AGAIN = Duration.ofSeconds(5);

  private final boolean allowed;
  private final Supplier<Optional<KubeconfigIssuer>> issuer;

  /**
   * Creates it.
   *
   * @param allowed true if an operator allows it
   * @param issuer the issuer; empty while the organ is absent
   */
  DebugKubeconfig(boolean allowed, Supplier<Optional<KubeconfigIssuer>> issuer) {
    this.allowed = allowed;
    this.issuer = issuer;
  }

  /**
   * Returns a kubeconfig file.
   *
   * @throws RpcException if no kubeconfig is possible; the message names the reason
   */
  String issue(String user, List<String> groups) throws InterruptedException {
    if (user.isBlank()) {
      throw RpcException.invalid("id is empty; give the name of a user, such as \"developer\"");
    }
    if (!allowed) {
      throw RpcException.failedPrecondition(
          "this is off, because every client that reaches this port could get any right in"
              + " Kubernetes; start the node with --set dev.polis.debug.kubeconfig=true");
    }
    KubeconfigIssuer found =
        issuer
            .get()
            .orElseThrow(
                () ->
                    RpcException.notFound(
                        "this node cannot make a kubeconfig: the organ 'kubernetes' does not run"));
    try {
      return found.issue(user, groups);
    } catch (TimeoutException absent) {
      throw RpcException.unavailable(absent.getMessage(), AGAIN);
    }
  }
}
