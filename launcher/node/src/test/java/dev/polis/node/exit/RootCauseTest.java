package dev.polis.node.exit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException;
import java.io.IOException;
import java.net.BindException;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class RootCauseTest {

  @Test
  void givenOurWordsAboveTheSystems_thenOurs() {
    Exception error =
        new Refusal(
            "boot failed", new Refusal("port 1 is taken by x", new BindException("in use")));
    assertEquals("port 1 is taken by x", RootCause.of(error));
  }

  @Test
  @DisplayName("Words that quote a cause and say what to do go before the cause, and nothing above")
  void givenARemedyBehindTheCause_thenBoth() {
    Refusal cause = new Refusal("it holds no key");
    Refusal remedied = new Refusal("/x is damaged: it holds no key; restore it", cause);
    Refusal above = new Refusal("node credentials: " + remedied.getMessage(), remedied);
    assertEquals("/x is damaged: it holds no key; restore it", RootCause.of(above));
  }

  @Test
  void givenNoWordsOfOurs_thenTheInnermost() {
    assertEquals(
        "Address already in use",
        RootCause.of(new IOException("io", new BindException("Address already in use"))));
  }

  @Test
  void givenAMessageThatIsNoSentence_thenItsTypeIsTold() {
    assertEquals("ExecutionException: /x", RootCause.of(new ExecutionException("/x", null)));
  }

  @Test
  void givenAPathAlone_thenWhatIsWrongWithIt() {
    assertEquals("/x is not there", RootCause.of(new NoSuchFileException("/x")));
  }

  @Test
  void givenWordsThatRepeatWhatIsBelow_thenWhatIsBelow() {
    NoSuchFileException below = new NoSuchFileException("/x");
    assertEquals("/x is not there", RootCause.of(new Refusal(below.toString(), below)));
  }

  @Test
  void givenOursWithoutWords_thenWhatIsBelow() {
    assertEquals(
        "the disk is full", RootCause.of(new Refusal("x", new IOException("the disk is full"))));
  }

  @Test
  void givenACircle_thenItEnds() {
    IOException one = new IOException("one thing");
    IOException other = new IOException("other thing", one);
    one.initCause(other);
    assertEquals("other thing", RootCause.of(one));
  }

  @Test
  @Timeout(60)
  @DisplayName("Causes that are made anew at each call end too, and so does a name of the disk")
  void givenCausesWithoutAnEnd_thenItEnds() {
    assertEquals("there is one more below", RootCause.of(new Endless()));
    assertEquals(FileException.Problem.IO, DiskTrouble.of(new Endless()));
    assertEquals(Optional.empty(), DiskTrouble.place(new Endless()));
  }

  /** Makes a new cause at each call. */
  private static final class Endless extends Exception {
    private static final long serialVersionUID = 1;

    Endless() {
      super("there is one more below");
    }

    @Override
    public synchronized Throwable getCause() {
      return new Endless();
    }
  }

  @Test
  void givenSeveralLines_thenOne() {
    assertEquals("a b", RootCause.of(new IOException("a\n  b")));
  }
}
