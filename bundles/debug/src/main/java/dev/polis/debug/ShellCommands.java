package dev.polis.debug;

import java.io.InputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.felix.gogo.command.Basic;
import org.apache.felix.gogo.command.Inspect;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Converter;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.util.tracker.ServiceTracker;

/**
 * Holds the commands of the shell: Gogo's commands for bundles, and those that bundles register as
 * services by Gogo's convention.
 */
final class ShellCommands implements AutoCloseable {
  private static final String SCOPE = "osgi.command.scope";
  private static final String FUNCTION = "osgi.command.function";

  /**
   * Gogo's commands, without install, update and uninstall, since only polisctl plugin verifies
   * bundles.
   */
  private static final List<String> BASIC =
      List.of("lb", "headers", "which", "resolve", "refresh", "start", "stop");

  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}");

  private final CommandProcessorImpl processor = new CommandProcessorImpl();
  private final ServiceTracker<Object, Object> registered;

  private ShellCommands(BundleContext context) throws InvalidSyntaxException {
    Basic basic = new Basic(context);
    BASIC.forEach(name -> processor.addCommand("felix", basic, name));
    processor.addCommand("felix", new Inspect(context), "inspect");
    processor.addCommand("polis", new Help(processor), "help");
    processor.addConstant("context", context);
    processor.addConverter(new BundleNames(context));
    registered =
        new ServiceTracker<>(
            context,
            FrameworkUtil.createFilter("(&(%s=*)(%s=*))".formatted(SCOPE, FUNCTION)),
            null) {
          @Override
          public Object addingService(ServiceReference<Object> reference) {
            Object target = super.addingService(reference);
            if (target != null) {
              functions(reference)
                  .forEach(name -> processor.addCommand(scope(reference), target, name));
            }
            return target;
          }

          @Override
          public void removedService(ServiceReference<Object> reference, Object target) {
            functions(reference)
                .forEach(name -> processor.removeCommand(scope(reference), name, target));
            super.removedService(reference, target);
          }
        };
  }

  static ShellCommands open(BundleContext context) {
    try {
      ShellCommands commands = new ShellCommands(context);
      commands.registered.open();
      return commands;
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException("the filter in this source is malformed", e);
    }
  }

  private static String scope(ServiceReference<?> reference) {
    return String.valueOf(reference.getProperty(SCOPE));
  }

  private static List<String> functions(ServiceReference<?> reference) {
    Object names = reference.getProperty(FUNCTION);
    return names instanceof String[] several ? List.of(several) : List.of(String.valueOf(names));
  }

  /** Begins a session, which its caller closes. */
  CommandSession session(InputStream in, PrintStream out) {
    CommandSession session = processor.createSession(in, out, out);
    // So "lb" is enough for "felix:lb".
    session.put("SCOPE", "felix:polis:*");
    return session;
  }

  @Override
  public void close() {
    registered.close();
    processor.stop();
  }

  /** Finds a bundle by its number or its symbolic name, for the arguments of commands. */
  private record BundleNames(BundleContext context) implements Converter {
    @Override
    public Object convert(Class<?> type, Object in) {
      if (type != Bundle.class) {
        return null; // for Gogo: ask another converter
      }
      String name = in.toString();
      return NUMBER.matcher(name).matches()
          ? context.getBundle(Long.parseLong(name))
          : Stream.of(context.getBundles())
              .filter(bundle -> name.equals(bundle.getSymbolicName()))
              .findFirst()
              .orElse(null);
    }

    @Override
    public CharSequence format(Object target, int level, Converter escape) {
      return null; // as above
    }
  }

  /** Lists the commands; it is public because Gogo calls it by reflection. */
  public static final class Help {
    private final CommandProcessorImpl processor;

    Help(CommandProcessorImpl processor) {
      this.processor = processor;
    }

    /** Returns the names of all commands, one in each line. */
    public String help() {
      return String.join("\n", new TreeSet<>(processor.getCommands()))
          + "\nexit\n$context is the BundleContext of the debug organ: call any of its methods.";
    }
  }
}
