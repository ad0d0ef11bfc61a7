package dev.polis.kubernetes.control;

import dev.polis.kubernetes.client.KubeClient;

/**
 * Checks the health of the controller manager or the scheduler.
 *
 * @param api the API server, which both need
 */
record HealthzProbe(KubeClient program, KubeClient api) implements ControlProbe {

  private static final String HEALTH = "/healthz";

  @Override
  public boolean ready() throws InterruptedException {
    return program.answers(HEALTH);
  }

  @Override
  public boolean alive() throws InterruptedException {
    return program.answers(HEALTH);
  }

  @Override
  public String missing() throws InterruptedException {
    return api.answers(KubeClient.READY)
        ? program.complaint(HEALTH).orElse("")
        : "the API server is not ready";
  }
}
