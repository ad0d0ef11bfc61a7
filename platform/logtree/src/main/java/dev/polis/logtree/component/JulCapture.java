package dev.polis.logtree.component;

import dev.polis.logtree.LogMessage;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.Severity;
import java.text.MessageFormat;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.MissingResourceException;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;

/**
 * Logs the records that libraries write to {@code java.util.logging}, such as gRPC's. A logger of
 * the project, {@code dev.polis.storage.Mount}, logs as its organ, {@code root.storage}; any other
 * logs as {@code jvm} and its name, {@code jvm.io.grpc.internal.Channel}.
 */
final class JulCapture extends Handler {
  private static final String OURS = "dev.polis.";
  private static final String OTHERS = "jvm";

  private final LogTree tree;
  private final Logger root = LogManager.getLogManager().getLogger("");
  private final List<Handler> former = List.of(root.getHandlers());

  private JulCapture(LogTree tree) {
    this.tree = tree;
    setLevel(Level.ALL);
  }

  /** Replaces all handlers of the root logger until it is closed. */
  static JulCapture install(LogTree tree) {
    JulCapture capture = new JulCapture(tree);
    capture.former.forEach(capture.root::removeHandler);
    capture.root.addHandler(capture);
    return capture;
  }

  @Override
  public void close() {
    root.removeHandler(this);
    List<Handler> present = List.of(root.getHandlers());
    former.stream().filter(handler -> !present.contains(handler)).forEach(root::addHandler);
  }

  @Override
  public void flush() {
    // This handler buffers no record.
  }

  @Override
  public void publish(LogRecord record) {
    if (!isLoggable(record)) {
      return;
    }
    String dn = dn(record.getLoggerName());
    LogPayload payload =
        LogPayload.Leveled.of(
            severity(record.getLevel()), record.getInstant(), location(record), message(record));
    tree.append(dn, payload);
  }

  static String dn(String loggerName) {
    String name = loggerName == null ? "" : parts(loggerName);
    if (name.startsWith(OURS)) {
      int end = name.indexOf('.', OURS.length());
      return "root." + name.substring(OURS.length(), end < 0 ? name.length() : end);
    }
    return name.isEmpty() ? OTHERS : OTHERS + "." + name;
  }

  private static String parts(String loggerName) {
    return Arrays.stream(loggerName.split("\\."))
        .filter(part -> !part.isEmpty())
        .collect(Collectors.joining("."));
  }

  private static Severity severity(Level level) {
    if (level.intValue() >= Level.SEVERE.intValue()) {
      return Severity.ERROR;
    }
    return level.intValue() >= Level.WARNING.intValue() ? Severity.WARNING : Severity.INFO;
  }

  /** Returns the class and method, since a record has no line number. */
  private static String location(LogRecord record) {
    String type = record.getSourceClassName();
    if (type == null) {
      return "";
    }
    String method = record.getSourceMethodName();
    String simple = type.substring(type.lastIndexOf('.') + 1);
    return method == null ? simple : simple + "." + method;
  }

  private static String message(LogRecord record) {
    String text = text(record);
    Throwable thrown = record.getThrown();
    return thrown == null ? text : LogMessage.format("%s", text, thrown);
  }

  private static String text(LogRecord record) {
    String pattern = localized(record);
    Object[] parameters = record.getParameters();
    if (parameters == null || parameters.length == 0 || !pattern.contains("{")) {
      return pattern;
    }
    Object[] redacted = Arrays.stream(parameters).map(LogMessage::redact).toArray();
    try {
      return new MessageFormat(pattern, Locale.ROOT).format(redacted);
    } catch (RuntimeException e) {
      // No message format, or an unprintable parameter: then the text alone.
      return pattern;
    }
  }

  private static String localized(LogRecord record) {
    String key = String.valueOf(record.getMessage());
    if (record.getResourceBundle() == null) {
      return key;
    }
    try {
      return record.getResourceBundle().getString(key);
    } catch (MissingResourceException | ClassCastException e) {
      // A message outside the resource bundle stands for itself.
      return key;
    }
  }
}
