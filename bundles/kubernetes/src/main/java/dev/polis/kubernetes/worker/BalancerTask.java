package dev.polis.kubernetes.worker;

import dev.polis.base.values.MutableValue;
import dev.polis.kubernetes.balancer.BackendProbe;
import dev.polis.kubernetes.balancer.LoadBalancer;
import dev.polis.kubernetes.settings.KubernetesAddresses;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Set;

/**
 * Runs the load balancer from the moment the node has an address and an open volume. The programs
 * of an earlier run continue while this node joins its cluster again, and a kubelet that reaches no
 * API server for 50 s counts as lost.
 */
final class BalancerTask implements Task {

  private final KubernetesSettings settings;
  private final WorkerSite site;
  private final MutableValue<Set<InetSocketAddress>> controllers;
  private final BackendProbe probe;

  /**
   * @param controllers the API servers; this task publishes those of an earlier run
   */
  BalancerTask(
      KubernetesSettings settings,
      WorkerSite site,
      MutableValue<Set<InetSocketAddress>> controllers,
      BackendProbe probe) {
    this.settings = settings;
    this.site = site;
    this.controllers = controllers;
    this.probe = probe;
  }

  @Override
  public void run(Context context) throws Exception {
    InetAddress node = site.awaitAddress();
    KubernetesAddresses addresses = site.addresses(node);
    WorkerFiles files = site.awaitFiles();
    site.claim(addresses);
    new KnownControllers(files.controllers).offer(controllers, context.log());
    InetSocketAddress at = WorkerPlan.balancer(settings, addresses, site.isolation(node));
    context.run("listener", new LoadBalancer(at, controllers, probe));
    context.healthy();
    site.awaitOther(addresses);
  }
}
