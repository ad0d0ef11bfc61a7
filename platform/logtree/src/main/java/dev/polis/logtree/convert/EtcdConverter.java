package dev.polis.logtree.convert;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import java.io.IOException;
import java.io.StringReader;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;

/**
 * Reads the JSON lines of etcd: level, time, caller and message get their places in the entry; all
 * other fields follow the message, sorted by key. It omits only the trace of etcd's own stack,
 * which fills a screen and tells an operator nothing. A line that cannot be read becomes a warning
 * that quotes it, so that the converter never returns nothing.
 */
public final class EtcdConverter implements LineConverter {
  /** The fields that do not follow the message. */
  private static final Set<String> ASIDE = Set.of("level", "ts", "caller", "msg", "stacktrace");

  // The format of etcd's times; older versions write the offset as +0000, newer ones as Z or
  // +00:00.
  private static final DateTimeFormatter TIME =
      new DateTimeFormatterBuilder()
          .append(DateTimeFormatter.ISO_LOCAL_DATE_TIME)
          .appendPattern("[XXX][XX]")
          .toFormatter(Locale.ROOT);

  private final InstantSource clock;

  /** Creates a converter for lines of running programs. */
  public EtcdConverter() {
    this(InstantSource.system());
  }

  /**
   * Creates a converter.
   *
   * @param clock gives the time of a line without one
   */
  public EtcdConverter(InstantSource clock) {
    this.clock = clock;
  }

  @Override
  public Optional<LogPayload> convert(String line) {
    return Optional.of(parse(line).map(this::payload).orElseGet(() -> unparseable(line)));
  }

  private LogPayload payload(JsonObject fields) {
    return LogPayload.Leveled.of(
        severity(string(fields, "level")), time(fields), location(fields), message(fields));
  }

  private LogPayload unparseable(String line) {
    return LogPayload.Leveled.of(
        Severity.WARNING, clock.instant(), "", "Log line unparseable: " + line);
  }

  private static Optional<JsonObject> parse(String line) {
    try (JsonReader reader = new JsonReader(new StringReader(line))) {
      reader.setStrictness(Strictness.STRICT);
      JsonElement element = JsonParser.parseReader(reader);
      boolean whole = reader.peek() == JsonToken.END_DOCUMENT;
      return whole && element.isJsonObject()
          ? Optional.of(element.getAsJsonObject())
          : Optional.empty();
    } catch (JsonParseException | IOException e) {
      // The line is no JSON of etcd; the entry quotes it.
      return Optional.empty();
    }
  }

  private static Severity severity(String level) {
    return switch (level) {
      case "warn" -> Severity.WARNING;
      case "error", "dpanic" -> Severity.ERROR;
      case "panic", "fatal" -> Severity.FATAL;
      default -> Severity.INFO;
    };
  }

  private Instant time(JsonObject fields) {
    JsonElement value = fields.get("ts");
    if (value == null || !value.isJsonPrimitive()) {
      return clock.instant();
    }
    try {
      if (value.getAsJsonPrimitive().isNumber()) {
        long micros = Math.round(value.getAsDouble() * 1e6);
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
      }
      return OffsetDateTime.parse(value.getAsString(), TIME).toInstant();
    } catch (DateTimeException | ArithmeticException e) {
      // The message is more important than its time.
      return clock.instant();
    }
  }

  private static String location(JsonObject fields) {
    String caller = string(fields, "caller");
    return caller.substring(caller.lastIndexOf('/') + 1);
  }

  private static String message(JsonObject fields) {
    StringJoiner text = new StringJoiner(", ");
    String message = string(fields, "msg");
    if (!message.isEmpty()) {
      text.add(message);
    }
    for (String key : new TreeSet<>(fields.keySet())) {
      if (!ASIDE.contains(key)) {
        text.add(key + ": " + text(fields.get(key)));
      }
    }
    return text.toString();
  }

  private static String string(JsonObject fields, String key) {
    JsonElement value = fields.get(key);
    return value == null || value.isJsonNull() ? "" : text(value);
  }

  private static String text(JsonElement value) {
    return value.isJsonPrimitive() ? value.getAsString() : value.toString();
  }
}
