package dev.polis.plugins;

import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoreFailure;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;

/** Turns failures of the plugin store into the status for the caller. */
final class StoreCalls {
  private StoreCalls() {}

  /** Is a read of the store. */
  @FunctionalInterface
  interface Question<T> {
    T ask() throws IOException, PluginStoreException;
  }

  /**
   * Runs a read of the store.
   *
   * @throws StatusException if the store is damaged or cannot be read
   */
  static <T> T ask(Question<T> question) throws StatusException {
    try {
      return question.ask();
    } catch (PluginStoreException e) {
      throw Status.DATA_LOSS.withDescription(e.getMessage()).withCause(e).asException();
    } catch (IOException e) {
      throw Status.FAILED_PRECONDITION
          .withDescription(StoreFailure.words(e))
          .withCause(e)
          .asException();
    }
  }
}
