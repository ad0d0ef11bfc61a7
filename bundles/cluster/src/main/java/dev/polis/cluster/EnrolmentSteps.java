package dev.polis.cluster;

import dev.polis.api.cluster.EnrolmentException;
import dev.polis.boot.BootReport;
import dev.polis.boot.Wait;
import dev.polis.logtree.Log;

/** Runs the steps of a flow under their names, so that each wait and each failure has one. */
final class EnrolmentSteps {

  /** The work of a step. */
  @FunctionalInterface
  interface Step<T> {
    T run(Wait wait) throws Exception;
  }

  /** The exit code a shell reports of a process that was killed with signal 9. */
  private static final int KILLED = 137;

  private final BootReport boot;
  private final Log log;
  private final String haltAfter;

  EnrolmentSteps(BootReport boot, Log log) {
    this(boot, log, "");
  }

  /**
   * Steps that may end the JVM, for tests of crashes: from outside no kill can be timed so well.
   *
   * @param haltAfter the name of the step after which the JVM ends at once, nothing closed, nothing
   *     flushed; empty for none
   */
  EnrolmentSteps(BootReport boot, Log log, String haltAfter) {
    this.boot = boot;
    this.log = log;
    this.haltAfter = haltAfter;
  }

  Log log() {
    return log;
  }

  /**
   * Runs one step.
   *
   * @param name what is awaited, as people read it
   * @throws EnrolmentException if the step fails; its message names the step
   * @throws InterruptedException if the manager is stopped meanwhile
   */
  <T> T step(String name, Step<T> step) throws InterruptedException {
    try (Wait wait = boot.waiting(name)) {
      T result = step.run(wait);
      if (name.equals(haltAfter)) {
        Runtime.getRuntime().halt(KILLED);
      }
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
