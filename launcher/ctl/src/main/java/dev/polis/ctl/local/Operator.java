package dev.polis.ctl.local;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.polis.ctl.Ctl;
import dev.polis.ctl.session.ExitCode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;

/**
 * Runs the operator's commands in this process.
 *
 * @param state which the commands get with {@code --state}
 */
record Operator(Path state) {

  /**
   * The end of a command.
   *
   * @param code its exit code
   * @param said what it printed, errors last
   */
  record Answer(int code, String out, String err) {

    boolean done() {
      return code == ExitCode.OK.code();
    }

    /** Returns whether the same command may succeed later, since the node does not answer yet. */
    boolean mayComeLater() {
      return code == ExitCode.UNREACHABLE.code();
    }

    /** Returns the last line of its errors, without the name of the program. */
    String reason() {
      List<String> lines = err.strip().lines().toList();
      String last = lines.isEmpty() ? "exit code " + code : lines.getLast();
      return last.startsWith("polisctl: ") ? last.substring("polisctl: ".length()) : last;
    }
  }

  Answer run(String... words) {
    List<String> line = new ArrayList<>(List.of("--state=" + state));
    line.addAll(List.of(words));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        Ctl.run(
            line.toArray(String[]::new), new PrintWriter(out, true), new PrintWriter(err, true));
    return new Answer(code, out.toString(), err.toString());
  }

  /** Returns the rows that a command prints; none if there is no answer now. */
  List<JsonObject> rows(String... words) {
    List<String> line = new ArrayList<>(List.of(words));
    line.addAll(List.of("-o", "json"));
    Answer answer = run(line.toArray(String[]::new));
    if (answer.out().isBlank()) {
      return List.of();
    }
    return StreamSupport.stream(
            JsonParser.parseString(answer.out()).getAsJsonArray().spliterator(), false)
        .map(JsonElement::getAsJsonObject)
        .toList();
  }

  /** Returns whether a field of a node's row has a role. */
  static boolean has(JsonObject node, String field, String role) {
    JsonElement roles = node.get(field);
    return roles.isJsonArray()
        && StreamSupport.stream(roles.getAsJsonArray().spliterator(), false)
            .anyMatch(each -> each.getAsString().equals(role));
  }
}
