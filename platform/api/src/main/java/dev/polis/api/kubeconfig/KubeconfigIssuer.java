package dev.polis.api.kubeconfig;

import java.util.List;
import java.util.concurrent.TimeoutException;
import org.osgi.annotation.versioning.ProviderType;

/** Makes credentials for the Kubernetes of this node. Usable from any thread. */
@ProviderType
public interface KubeconfigIssuer {

  /**
   * Makes a kubeconfig file with a new key and a certificate that ends by itself within a day. It
   * waits until this node's API server is ready, for a minute at most.
   *
   * @param user the user's name in Kubernetes
   * @param groups the groups that the user belongs to; {@code system:masters} has all rights
   * @return the file's text, which holds the key
   * @throws TimeoutException if no API server is ready within that time; the message names the
   *     reason
   * @throws InterruptedException if interrupted while waiting
   */
  String issue(String user, List<String> groups) throws TimeoutException, InterruptedException;
}
