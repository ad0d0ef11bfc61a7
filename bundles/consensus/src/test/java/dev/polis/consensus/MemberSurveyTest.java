package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class MemberSurveyTest {
  private static final EtcdMember OWN = member(1, false);
  private static final EtcdMember SECOND = member(2, false);
  private static final EtcdMember THIRD = member(3, false);

  private static EtcdMember member(long id, boolean learner) {
    return new EtcdMember(
        id,
        "m" + id,
        List.of("https://127.0.0.1:237" + id),
        List.of("https://127.0.0.1:238" + id),
        learner);
  }

  private static MemberSurvey.Answer answer(EtcdMember member, long leader) {
    return new MemberSurvey.Answered(
        member,
        new EtcdStatus(
            EtcdEndpoint.of("127.0.0.1:238" + member.id()),
            member.id(),
            7,
            leader,
            "3.5.16",
            1,
            1,
            1,
            1,
            0,
            0,
            member.learner(),
            List.of()));
  }

  private static MemberSurvey.Answer silent(EtcdMember member) {
    return new MemberSurvey.Silent(member, "it did not answer");
  }

  private static Optional<EtcdMember> heir(MemberSurvey.Answer... answers) {
    return new MemberSurvey(7, List.of(answers)).heir();
  }

  @Test
  @DisplayName("the heir of a leader is a voter that answers")
  void heirAnswers() {
    assertEquals(Optional.of(THIRD), heir(answer(OWN, 1), silent(SECOND), answer(THIRD, 1)));
  }

  @Test
  @DisplayName("a learner is no heir, and neither is a silent voter")
  void noHeir() {
    assertEquals(
        Optional.empty(), heir(answer(OWN, 1), answer(member(4, true), 1), silent(SECOND)));
  }

  @Test
  @DisplayName("a member that does not lead has no heir")
  void follower() {
    assertEquals(Optional.empty(), heir(answer(OWN, 2), answer(SECOND, 2), answer(THIRD, 2)));
  }
}
