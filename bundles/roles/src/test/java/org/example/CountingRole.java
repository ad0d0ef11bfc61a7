package org.example;

import dev.polis.api.roles.RolePlugin;
import dev.polis.base.boot.StopReason;
import dev.polis.supervision.Context;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Plays a third party's role: records the begin of each run and the reason of its end. */
public final class CountingRole implements RolePlugin {

  private final List<String> events = new CopyOnWriteArrayList<>();

  /** Returns the records, oldest first. */
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
