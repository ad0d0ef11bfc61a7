package dev.polis.node;

import java.util.function.Consumer;

/** What the kernel expects of process 1, taken on only by a node that is process 1. */
final class Pid1Duties implements AutoCloseable {
  private final ChildReaper reaper;

  private Pid1Duties(ChildReaper reaper) {
    this.reaper = reaper;
  }

  /**
   * Takes the duties on: orphans are reaped, SIGURG is ignored, SIGUSR1 is logged.
   *
   * @param log is told of what is worth a line
   */
  static Pid1Duties take(Consumer<String> log) {
    Pid1Duties duties = new Pid1Duties(new ChildReaper(new ChildTableLinux(), log));
    for (String signal : new String[] {"CHLD", "URG", "USR1"}) {
      Signals.on(signal, name -> duties.handle(name, log));
    }
    duties.start();
    return duties;
  }

  /** For tests: without signals of the operating system. */
  static Pid1Duties over(ChildReaper reaper) {
    return new Pid1Duties(reaper);
  }

  void start() {
    reaper.start();
  }

  void handle(String signal, Consumer<String> log) {
    switch (signal) {
      case "CHLD" -> reaper.wake();
      case "URG" -> {
        // Sent by programs that use it to wake their own threads; it means nothing to process 1.
      }
      default -> log.accept("signal SIG" + signal + " received, nothing to do");
    }
  }

  @Override
  public void close() {
    reaper.close();
  }
}
