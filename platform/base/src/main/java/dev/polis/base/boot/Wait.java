package dev.polis.base.boot;

import org.osgi.annotation.versioning.ProviderType;

/**
 * Shows the operator one awaited event. Usable from any thread; calls after its end have no effect.
 */
@ProviderType
public interface Wait extends AutoCloseable {

  /**
   * Sets the text about the progress of this wait.
   *
   * @param text a few words, {@code "2 of 3 members answer, attempt 4"}
   */
  void detail(String text);

  /**
   * Ends the wait with success.
   *
   * @param result the outcome, {@code "member 8e9e05c52164694d leads"}; may be empty
   */
  void done(String result);

  /** Ends the wait. A wait without {@link #done} counts as given up. */
  @Override
  void close();
}
