package dev.polis.ctl.session;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Holds the options of the root command, which each command reads there. */
public abstract class CtlRoot implements Runnable {
  @Mixin public CtlOptions options;
  @Spec CommandSpec spec;

  @Override
  public final void run() {
    throw new ParameterException(spec.commandLine(), "no command given");
  }
}
