package dev.polis.node.init;

import dev.polis.base.posix.Machine;
import dev.polis.base.posix.Machine.Reboot;
import dev.polis.base.posix.PosixException;
import dev.polis.node.exit.Exit;
import java.util.function.Consumer;

/** Does what the kernel expects of process 1; only a node that is process 1 takes this on. */
public final class Pid1Duties implements AutoCloseable {
  private final ChildReaper reaper;

  /** Has the duties without signals of the operating system. */
  Pid1Duties(ChildReaper reaper) {
    this.reaper = reaper;
  }

  /**
   * Takes the duties on: orphans are reaped, SIGURG is ignored, SIGUSR1 is logged.
   *
   * @param log receives the lines to print
   */
  public static Pid1Duties take(Consumer<String> log) {
    Pid1Duties duties = new Pid1Duties(new ChildReaper(ChildTable.ofKernel(), log));
    for (String signal : new String[] {"CHLD", "URG", "USR1"}) {
      Signals.on(signal, name -> duties.handle(name, log));
    }
    duties.start();
    return duties;
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

  /**
   * Switches the machine off if the node ended well, and restarts it otherwise: the kernel panics
   * if process 1 just ends. In a container that has no such right this returns, and the end of this
   * process ends the container.
   *
   * @param exitCode what the node ended with
   * @param log gets the reason if the machine keeps running
   */
  public static void endMachine(int exitCode, Consumer<String> log) {
    try {
      Machine.reboot(exitCode == Exit.OK ? Reboot.POWER_OFF : Reboot.RESTART);
    } catch (PosixException e) {
      log.accept("the machine keeps running: " + e.getMessage());
    }
  }

  @Override
  public void close() {
    reaper.close();
  }
}
