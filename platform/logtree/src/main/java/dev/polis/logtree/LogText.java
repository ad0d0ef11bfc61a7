package dev.polis.logtree;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Makes a text valid for a journal: Unicode in short lines. */
final class LogText {
  static final String INVALID = "<INVALID>";
  private static final char REPLACEMENT = '\uFFFD';
  // A char is at most three bytes of UTF-8 (a pair of surrogates is four).
  private static final int SURELY_SHORT = LogPayload.MAX_LINE_BYTES / 3;

  private LogText() {}

  /**
   * Decodes UTF-8 and replaces each run of invalid bytes by {@link #INVALID}. With {@code cut}, it
   * drops an incomplete character at the end, which this cut broke.
   */
  static String decode(byte[] bytes, int offset, int length, boolean cut) {
    String text = new String(bytes, offset, length, StandardCharsets.UTF_8);
    if (text.indexOf(REPLACEMENT) < 0) {
      return text;
    }
    CharsetDecoder decoder =
        StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPORT)
            .onUnmappableCharacter(CodingErrorAction.REPORT);
    ByteBuffer in = ByteBuffer.wrap(bytes, offset, length);
    CharBuffer out = CharBuffer.allocate(length);
    StringBuilder result = new StringBuilder(length + INVALID.length());
    boolean inInvalidRun = false;
    while (true) {
      CoderResult state = decoder.decode(in, out, !cut);
      out.flip();
      inInvalidRun &= out.isEmpty();
      result.append(out);
      out.clear();
      if (!state.isError()) {
        return result.toString();
      }
      in.position(in.position() + state.length());
      if (!inInvalidRun) {
        result.append(INVALID);
      }
      inInvalidRun = true;
    }
  }

  /** Replaces each run of lone surrogates, which UTF-8 cannot express. */
  static String valid(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (Character.isSurrogate(text.charAt(i))) {
        return withoutLoneSurrogates(text, i);
      }
    }
    return text;
  }

  private static String withoutLoneSurrogates(String text, int from) {
    StringBuilder result =
        new StringBuilder(text.length() + INVALID.length()).append(text, 0, from);
    boolean inInvalidRun = false;
    for (int i = from; i < text.length(); ) {
      int point = text.codePointAt(i);
      boolean lone = point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE;
      if (!lone) {
        result.appendCodePoint(point);
      } else if (!inInvalidRun) {
        result.append(INVALID);
      }
      inInvalidRun = lone;
      i += Character.charCount(point);
    }
    return result.toString();
  }

  /**
   * Splits a text at newlines, drops empty lines at the end, sanitizes and cuts; returns at least
   * one line.
   */
  static List<String> lines(List<String> given) {
    if (given.size() == 1 && isShort(given.getFirst()) && isPlain(given.getFirst())) {
      return List.copyOf(given);
    }
    List<String> lines = new ArrayList<>();
    for (String text : given) {
      for (String line : text.split("\n", -1)) {
        lines.add(shortened(valid(line)));
      }
    }
    while (lines.size() > 1 && lines.getLast().isEmpty()) {
      lines.removeLast();
    }
    if (lines.isEmpty()) {
      lines.add("");
    }
    if (lines.size() > LogPayload.MAX_LINES) {
      int more = lines.size() - LogPayload.MAX_LINES + 1;
      lines.subList(LogPayload.MAX_LINES - 1, lines.size()).clear();
      lines.add("... (" + more + " more lines)");
    }
    return List.copyOf(lines);
  }

  /** Returns whether the text surely fits in a line, however many bytes its characters take. */
  static boolean isShort(String text) {
    return text.length() <= SURELY_SHORT;
  }

  /** Returns whether the text is one line without surrogates, as nearly all are. */
  static boolean isPlain(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\n' || Character.isSurrogate(c)) {
        return false;
      }
    }
    return true;
  }

  private static String shortened(String line) {
    if (isShort(line)) {
      return line;
    }
    byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= LogPayload.MAX_LINE_BYTES) {
      return line;
    }
    String suffix = "... (" + bytes.length + " bytes)";
    int kept = LogPayload.MAX_LINE_BYTES - suffix.length();
    return decode(bytes, 0, kept, true) + suffix;
  }
}
