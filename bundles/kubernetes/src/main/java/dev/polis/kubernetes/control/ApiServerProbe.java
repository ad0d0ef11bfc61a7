package dev.polis.kubernetes.control;

import dev.polis.kubernetes.client.KubeClient;

/** Checks the health of the API server. */
record ApiServerProbe(KubeClient api) implements ControlProbe {

  /** The path of the check without etcd, which a restart of the API server would not repair. */
  private static final String ALIVE = "/livez?exclude=etcd";

  @Override
  public boolean ready() throws InterruptedException {
    return api.answers(KubeClient.READY);
  }

  @Override
  public boolean alive() throws InterruptedException {
    return api.answers(ALIVE);
  }

  @Override
  public String missing() throws InterruptedException {
    return api.complaint(KubeClient.READY).orElse("");
  }
}
