package dev.polis.ctl.session;

/** Runs a command that asks a node, in a session of its own. */
public abstract class SessionCommand extends CtlCommand {

  @Override
  protected final ExitCode run() throws InterruptedException {
    check();
    try (Session session = Session.open(options())) {
      ExitCode code = run(session);
      session.learnRevocations();
      return code;
    }
  }

  /** Refuses arguments that are wrong whatever a node answers. */
  protected void check() {}

  /** Runs the command. */
  protected abstract ExitCode run(Session session) throws InterruptedException;
}
