package dev.polis.plugins.swap;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Announces a swap to all listeners. If one throws, the others still get the announcement. */
final class Announcements {
  private final Supplier<List<SwapListener>> listeners;
  private final SwapParts.Audit audit;

  Announcements(Supplier<List<SwapListener>> listeners, SwapParts.Audit audit) {
    this.listeners = listeners;
    this.audit = audit;
  }

  void begin(List<Replacement> replacements) {
    each(listener -> listener.begins(replacements));
  }

  void switchOver(List<Replacement> replacements) {
    each(listener -> listener.switches(replacements));
  }

  void end(List<Replacement> replacements, boolean applied) {
    each(listener -> listener.ends(replacements, applied));
  }

  private void each(Consumer<SwapListener> call) {
    for (SwapListener listener : listeners.get()) {
      try {
        call.accept(listener);
      } catch (RuntimeException | Error e) {
        audit.note(
            "%s failed at an announcement: %s"
                .formatted(listener.getClass().getName(), RootCauses.of(e)));
      }
    }
  }
}
