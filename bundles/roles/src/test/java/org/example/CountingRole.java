package org.example;

import dev.polis.api.roles.RolePlugin;
import dev.polis.boot.StopReason;
import dev.polis.supervision.Context;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A third party's role, which records when its runs begin and why they end. */
public final class CountingRole implements RolePlugin {

  private final List<String> events = new CopyOnWriteArrayList<>();

  /** Returns what has happened, oldest first. */
  public List<String> events() {
    return events;
  }

  @Override
  public void run(Context context) throws InterruptedException {
    events.add("begins");
    context.healthy();
    try {
      context.awaitCancelled();
    } finally {
      events.add("ends: " + context.stopReason().map(StopReason::name).orElse("to run again"));
    }
  }
}
