package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class RequestRoomTest {
  private final List<String> ended = new ArrayList<>();
  private final RequestRoom room =
      new RequestRoom(100, most -> RpcException.invalid("more than " + most));

  private RequestRoom.Requests begin(String caller, String name) {
    return room.begin(caller, why -> ended.add(name + ": " + why.getMessage()));
  }

  @Test
  @Tag("attack")
  @DisplayName("many requests of one caller end one of that caller, not a larger one of another")
  void largestOfTheCallerWithTheMost() {
    RequestRoom.Requests honest = begin("honest", "honest");
    honest.arriving(40);
    for (int each = 1; each <= 3; each++) {
      begin("greedy", "greedy " + each).arriving(20 + each);
    }
    assertEquals(List.of("greedy 3: more than 100"), ended);
    assertEquals(40 + 21 + 22, room.bytes());
    honest.arrived();
    honest.read(10);
    assertEquals(93, room.bytes());
    honest.over();
    assertEquals(43, room.bytes());
  }

  @Test
  @Tag("attack")
  @DisplayName("calls and unread answers count, and of calls with as much the oldest ends")
  void callsAndAnswersCount() {
    for (int each = 1; each <= 3; each++) {
      begin("greedy", "greedy " + each).takes(30);
    }
    RequestRoom.Requests honest = begin("honest", "honest");
    honest.answers(11);
    assertEquals(List.of("greedy 1: more than 100"), ended);
    assertEquals(71, room.bytes());
    honest.answersRead();
    assertEquals(60, room.bytes());
  }

  @Test
  @DisplayName("an ended call is no longer counted, with any later bytes of it")
  void endedIsNotCounted() {
    RequestRoom.Requests call = begin("caller", "call");
    call.arriving(50);
    call.over();
    call.arriving(1000);
    call.over();
    assertEquals(0, room.bytes());
    assertEquals(List.of(), ended);
  }

  @Test
  @DisplayName(
      "memory that a handler has taken over is free again, and a lowered limit applies at once")
  void takenIsFree() {
    RequestRoom.Requests stream = begin("caller", "stream");
    for (int message = 0; message < 10; message++) {
      stream.arriving(30);
      stream.arrived();
      stream.read(30);
      stream.taken();
    }
    assertEquals(0, room.bytes());
    room.limit(10);
    stream.arriving(11);
    assertEquals(List.of("stream: more than 10"), ended);
  }
}
