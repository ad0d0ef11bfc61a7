package dev.polis.base.boot;

import org.osgi.annotation.versioning.ProviderType;

/**
 * Shows the operator one thing that is awaited. Usable from any thread; calls after its end have no
 * effect.
 */
@ProviderType
public interface Wait extends AutoCloseable {

  /**
   * Sets the text that says what is going on inside this wait.
   *
   * @param text a few words, {@code "2 of 3 members answer, attempt 4"}
   */
  void detail(String text);

  /**
   * Ends the wait with success.
   *
   * @param result what came of it, {@code "member 8e9e05c52164694d leads"}; may be empty
   */
  void done(String result);

  /**
   * Ends the wait. Without {@link #done} before it, the wait counts as given up; after it, nothing
   * happens.
   */
  @Override
  void close();
}
