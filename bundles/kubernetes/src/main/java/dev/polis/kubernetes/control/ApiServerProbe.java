package dev.polis.kubernetes.control;

import dev.polis.kubernetes.client.KubeClient;

/** Asks the API server how it is. */
record ApiServerProbe(KubeClient api) implements ControlProbe {

  /** A restart of the API server would not repair etcd. */
  private static final String ALIVE = "/livez?exclude=etcd";

  @Override
  public boolean ready() throws InterruptedException {
    return api.answers(KubeClient.READY);
  }

  @Override
  public boolean alive() throws InterruptedException {
    return api.answers(ALIVE);
  }
}
