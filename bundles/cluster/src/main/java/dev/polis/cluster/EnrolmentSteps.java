package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.Wait;
import dev.polis.logtree.Log;

/** Runs the steps of a flow under their names, so that each wait and each failure has a name. */
final class EnrolmentSteps {

  /** Is the work of a step. */
  @FunctionalInterface
  interface Step<T> {
    T run(Wait wait) throws Exception;
  }

  private final BootReport boot;
  private final Log log;

  EnrolmentSteps(BootReport boot, Log log) {
    this.boot = boot;
    this.log = log;
  }

  Log log() {
    return log;
  }

  /**
   * Runs one step.
   *
   * @param name the event for which the step waits, for people
   * @throws EnrolmentException if the step fails; its message names the step
   * @throws InterruptedException if the manager stops meanwhile
   */
  <T> T step(String name, Step<T> step) throws InterruptedException {
    try (Wait wait = boot.waiting(name)) {
      T result = step.run(wait);
      wait.done(result instanceof String text ? text : "");
      return result;
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      throw new EnrolmentException("%s: %s".formatted(name, message(e)), e);
    }
  }

  private static String message(Exception e) {
    return e.getMessage() == null ? e.toString() : e.getMessage();
  }
}
