package dev.polis.kubernetes.control;

import dev.polis.kubernetes.client.KubeClient;

/** Asks the controller manager or the scheduler how it is. */
record HealthzProbe(KubeClient program) implements ControlProbe {

  private static final String HEALTH = "/healthz";

  @Override
  public boolean ready() throws InterruptedException {
    return program.answers(HEALTH);
  }

  @Override
  public boolean alive() throws InterruptedException {
    return program.answers(HEALTH);
  }
}
