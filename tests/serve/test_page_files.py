import pytest

from hushfade.serve.error_responses import Refusal
from hushfade.serve.page_files import PLACE, Pages


@pytest.fixture
def pages(tmp_path):
    place = tmp_path / "page"
    (place / "vendor").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (place / "index.html").write_text("<p>page", encoding="utf-8")
    (place / "main.js").write_text("export {}", encoding="utf-8")
    (place / "vendor" / "style.css").write_text("p {}", encoding="utf-8")
    (place / "notes.py").write_text("", encoding="utf-8")
    return Pages(place)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("index.html", "text/html; charset=utf-8"),
        ("main.js", "text/javascript; charset=utf-8"),
        ("vendor/style.css", "text/css; charset=utf-8"),
    ],
)
def test_a_file_has_its_own_type_and_is_sent_once(pages, path, kind):
    found = pages.response(path, None)
    assert (found.status_code, found.headers["content-type"]) == (200, kind)
    again = pages.response(path, found.headers["etag"])
    assert (again.status_code, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path",
    ["", ".", "..", "../secret.txt", "vendor/../../secret.txt", "/etc/passwd", "vendor",
     "notes.py", "main.js/", "vendor//style.css", "..\\secret.txt", "index.html\x00"],
)  # fmt: skip
def test_nothing_but_the_page_s_files_is_sent(pages, path):
    with pytest.raises(Refusal) as refusal:
        pages.response(path, None)
    assert refusal.value.status == 404


@pytest.mark.parametrize(
    "path",
    ["/page/../serve/app.py", "/page/%2e%2e/serve/app.py", "/page/..%2fserve/app.py", "/page/"],
)
def test_no_path_leads_out_of_the_page(client, path):
    found = client.get(path)
    assert found.status_code == 404
    assert "import" not in found.text


def test_the_page_s_own_files_are_served_to_everybody(make):
    client = make(scopes=["read"])
    for file in PLACE.rglob("*"):
        if file.suffix in {".html", ".js", ".css", ".svg"}:
            found = client.get(f"/page/{file.relative_to(PLACE).as_posix()}")
            assert found.content == file.read_bytes()
    if (PLACE / "index.html").exists():
        found = client.get("/")
        assert found.content == (PLACE / "index.html").read_bytes()
        assert found.headers["content-type"].startswith("text/html")
