package dev.polis.container.it;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Stands for the launcher towards the organs. */
final class TestBoot implements BootReport {

  private final Queue<String> fatal = new ConcurrentLinkedQueue<>();
  private volatile boolean home;
  private volatile StopReason reason = StopReason.CODE_REPLACED;

  /**
   * Returns whether an organ has reported that the node is HOME.
   *
   * @throws AssertionError if an organ has reported a fatal error
   */
  boolean isHome() {
    if (!fatal.isEmpty()) {
      throw new AssertionError("a fatal error was reported by " + fatal);
    }
    return home;
  }

  /** From now on, deactivated components stop their children. */
  void goDown() {
    reason = StopReason.POWER_OFF;
  }

  @Override
  public Wait waiting(String name) {
    return new Quiet();
  }

  @Override
  public void home(String summary) {
    home = true;
  }

  @Override
  public void fatal(String organ, Throwable cause) {
    fatal.add(organ + ": " + cause);
  }

  @Override
  public void powerOff(String reason) {
    fatal.add("a power off: " + reason);
  }

  @Override
  public StopReason stopReason() {
    return reason;
  }

  /** The tests do not read waits. */
  private static final class Quiet implements Wait {
    @Override
    public void detail(String text) {}

    @Override
    public void done(String result) {}

    @Override
    public void close() {}
  }
}
