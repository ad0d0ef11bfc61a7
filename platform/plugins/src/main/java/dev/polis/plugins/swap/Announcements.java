package dev.polis.plugins.swap;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Announces a swap to all listeners. If one throws or does not return in time, the others still get
 * the announcement.
 */
final class Announcements {
  private final Supplier<List<SwapListener>> listeners;
  private final SwapParts.Audit audit;
  private final Duration limit;

  Announcements(Supplier<List<SwapListener>> listeners, SwapParts.Audit audit, Duration limit) {
    this.listeners = listeners;
    this.audit = audit;
    this.limit = limit;
  }

  void begin(List<Replacement> replacements) throws InterruptedException {
    each(listener -> listener.begins(replacements));
  }

  void switchOver(List<Replacement> replacements) throws InterruptedException {
    each(listener -> listener.switches(replacements));
  }

  void end(List<Replacement> replacements, boolean applied) throws InterruptedException {
    each(listener -> listener.ends(replacements, applied));
  }

  private void each(Consumer<SwapListener> call) throws InterruptedException {
    for (SwapListener listener : listeners.get()) {
      try {
        LimitedCall.call("announcement", limit, () -> call.accept(listener));
      } catch (LimitedCall.FailedException | LimitedCall.OverdueException e) {
        note(listener, e.getMessage());
      }
    }
  }

  private void note(SwapListener listener, String why) {
    audit.note("%s failed at an announcement: %s".formatted(listener.getClass().getName(), why));
  }
}
