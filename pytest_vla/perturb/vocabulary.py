"""Other words for the words of instructions: nouns by their synonyms, and word by word in eight languages.

The tables hold what the shipped suites say and what is commonly asked of robots. A word that is in none stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

Filter = Callable[[str], str]
Rng = np.random.Generator

LANGUAGES = ("German", "French", "Spanish", "Italian", "Portuguese", "Dutch", "Swedish", "Polish")
TRANSLATIONS = ("as is", *LANGUAGES)

# An English word, then its counterpart in each language; `_` stands for a space.
_TRANSLATIONS = """
a ein un un un um een en jeden
above über au-dessus_de encima_de sopra acima_de boven över nad
all alle tous_les todos_los tutti_i todos_os alle alla wszystkie
and und et y e e en och i
angle Winkel angle ángulo angolo ângulo hoek vinkel kąt
any irgendein n'importe_quel cualquier qualsiasi qualquer een_willekeurig någon dowolny
as wie que que come que als som jak
at auf à en in em op på na
base Boden base base base base basis bas podstawę
between zwischen entre entre tra entre tussen mellan między
black schwarzen noir negro nero preto zwarte svarta czarny
block Block bloc bloque blocco bloco blok kloss klocek
blue blau bleu azul blu azul blauw blå niebieski
board Brett plateau tablero tavola tabuleiro bord bräda planszę
bottle Flasche bouteille botella bottiglia garrafa fles flaska butelkę
bowl Schüssel bol cuenco ciotola tigela kom skål miskę
box Kiste boîte caja scatola caixa doos låda pudełko
brick Ziegel brique ladrillo mattone tijolo baksteen tegel cegła
button Knopf bouton botón pulsante botão knop knapp przycisk
checkerboard Schachbrett damier ajedrezado scacchiera xadrez dambord schackruta szachownica
close schließe ferme cierra chiudi feche sluit stäng zamknij
container Behälter récipient recipiente contenitore recipiente bak behållare pojemnik
cube Würfel cube cubo cubo cubo kubus kub sześcian
cup Tasse tasse taza tazza xícara kop kopp kubek
cyan türkis cyan cian ciano ciano cyaan cyan turkusowy
dark dunkel foncé oscuro scuro escuro donker mörk ciemny
defined definiert défini definido definito definido gedefinieerd definierad zdefiniowane
degrees Grad degrés grados gradi graus graden grader stopni
door Tür porte puerta porta porta deur dörr drzwi
dot Punkte pois lunares pois bolinhas stippen prickar kropki
drawer Schublade tiroir cajón cassetto gaveta lade byrålåda szufladę
east Osten est este est leste oosten öster wschodzie
examples Beispiele exemples ejemplos esempi exemplos voorbeelden exempel przykłady
exceeding überschreiten dépasser sobrepasar superare ultrapassar overschrijden överskrida przekraczania
finally schließlich enfin finalmente infine finalmente ten_slotte slutligen na_koniec
first zuerst d'abord primero prima primeiro eerst först najpierw
follow folge suis sigue segui siga volg följ podążaj
for für pour para per para voor för dla
from von de de da de van från z
go gehe va ve vai vá ga gå idź
goal Ziel but meta meta meta doel mål celu
granite Granit granit granito granito granito graniet granit granit
green grün vert verde verde verde groen grön zielony
in in dans en in em in i w
into in_den dans dentro_de dentro dentro_de in in_i do
is ist est es è é is är jest
it ihn le lo lo o het den to
its seinem son su suo seu zijn dess jego
left links gauche izquierda sinistra esquerda links vänster lewo
less weniger moins menos meno menos minder mindre mniej
lift hebe soulève levanta solleva levante til lyft podnieś
magma Magma magma magma magma magma magma magma magma
make mache fais haz fai faça maak gör zrób
match gleichen correspondre coincidir corrispondere corresponder overeenkomen matcha pasowało
motion Bewegung mouvement movimiento movimento movimento beweging rörelse ruch
move bewege déplace mueve sposta mova verplaats flytta przesuń
mug Becher mug jarra boccale caneca mok mugg kufel
near bei près_de cerca_de vicino_a perto_de bij nära blisko
nearest nächsten plus_proche más_cercano più_vicino mais_próximo dichtstbijzijnde närmast najbliższy
next neben à_côté junto accanto ao_lado naast bredvid obok
north Norden nord norte nord norte noorden norr północy
now jetzt maintenant ahora ora agora nu nu teraz
object Objekt objet objeto oggetto objeto object objekt obiekt
objects Objekte objets objetos oggetti objetos objecten objekt obiekty
of von de de di de van av z
olive oliv olive oliva oliva oliva olijf oliv oliwkowy
on auf sur sobre su sobre op på na
one einen un uno uno um een en jeden
onto auf sur sobre su sobre op på na
open öffne ouvre abre apri abra open öppna otwórz
orange orange orange naranja arancione laranja oranje orange pomarańczowy
order Reihenfolge ordre orden ordine ordem volgorde ordning kolejności
original ursprünglichen d'origine original originale original oorspronkelijke ursprungliga pierwotnego
paisley Paisley cachemire cachemira cachemire caxemira paisley paisley paisley
pan Pfanne poêle sartén padella frigideira pan stekpanna patelnię
pick nimm prends toma prendi pegue pak plocka weź
picture Bild image imagen immagine imagem afbeelding bild obrazek
pink rosa rose rosa rosa rosa roze rosa różowy
place lege place coloca posiziona coloque plaats lägg połóż
plastic Plastik plastique plástico plastica plástico plastic plast plastikowy
plate Teller assiette plato piatto prato bord tallrik talerz
polka getupfte à a a de gestipte prickiga w
position Position position posición posizione posição positie position pozycji
press drücke appuie pulsa premi pressione druk tryck naciśnij
previously vorher auparavant antes precedentemente anteriormente eerder tidigare wcześniej
profile Profil profil perfil profilo perfil profiel profil profil
pull ziehe tire tira tira puxe trek dra pociągnij
purple lila violet morado viola roxo paars lila fioletowy
push schiebe pousse empuja spingi empurre duw tryck pchnij
put lege mets pon metti ponha leg lägg połóż
rainbow Regenbogen arc-en-ciel arcoíris arcobaleno arco-íris regenboog regnbåge tęczowy
rearrange ordne_um réarrange reordena riordina reorganize herschik ordna_om przestaw
red rot rouge rojo rosso vermelho rood röd czerwony
remove entferne enlève retira rimuovi remova verwijder ta_bort usuń
restore stelle_wieder_her restaure restaura ripristina restaure herstel återställ przywróć
right rechts droite derecha destra direita rechts höger prawo
robot Roboter robot robot robot robô robot robot robot
rotate drehe tourne gira ruota gire draai rotera obróć
rotating drehen tourner girar ruotare girar draaien rotera obracanie
same selben même mismo stesso mesmo dezelfde samma ten_sam
scene Szene scène escena scena cena scène scen scena
setup Aufbau disposition disposición disposizione disposição opstelling uppställning układu
shelf Regal étagère estante scaffale prateleira plank hylla półkę
slide schiebe glisse desliza fai_scorrere deslize schuif skjut przesuń
south Süden sud sur sud sul zuiden söder południu
specific bestimmten précis específico specifico específico bepaalde viss określony
stack stapele empile apila impila empilhe stapel stapla ułóż
stay bleibe reste quédate resta fique blijf stanna zostań
stone Stein pierre piedra pietra pedra steen sten kamień
stripe Streifen rayures rayas strisce listras strepen ränder paski
sweep fege balaie barre spazza varra veeg sopa zamieć
swirl Wirbel tourbillon remolino vortice redemoinho werveling virvel wir
table Tisch table mesa tavolo mesa tafel bord stół
take nimm prends toma prendi pegue neem ta weź
texture Textur texture textura trama textura textuur textur fakturę
than als que que di que dan än niż
that das qui que che que dat som który
the den le el il o de den ten
then dann puis luego poi depois dan sedan potem
this dies ce esto questo este dit detta to
three drei trois tres tre três drie tre trzy
tiger Tiger tigre tigre tigre tigre tijger tiger tygrys
tiles Fliesen carreaux azulejos piastrelle azulejos tegels plattor kafelki
to zu à a a a naar till do
touching berühren toucher tocar toccare tocar aanraken röra dotykania
towel Handtuch serviette toalla asciugamano toalha handdoek handduk ręcznik
tray Tablett plateau bandeja vassoio bandeja dienblad bricka tacę
turn drehe tourne gira gira vire draai vrid obróć
twist verdrehe tords tuerce torci torça draai vrid skręć
two zwei deux dos due dois twee två dwa
up hoch en_haut arriba su para_cima op upp w_górę
was war était estaba era estava was var był
west Westen ouest oeste ovest oeste westen väster zachodzie
white weißen blanc blanco bianco branco witte vita biały
with mit avec con con com met med z
without ohne sans sin senza sem zonder utan bez
wooden hölzern en_bois de_madera di_legno de_madeira houten trä drewniany
yellow gelb jaune amarillo giallo amarelo geel gul żółty
"""

# A noun, and others that mean the same.
_SYNONYMS = """
angle: turn, rotation, inclination, bearing
block: brick, cuboid, chunk, piece
board: grid, playing board, game board, panel
bottle: flask, container, vessel, jar
bowl: dish, basin, vessel, pot
box: crate, case, carton, chest
button: knob, switch, key, push button
container: vessel, holder, receptacle, bin
cube: block, box, die, cuboid
cup: mug, beaker, tumbler, glass
degrees: deg, angular degrees, degrees of angle, degrees of arc
door: hatch, gate, flap, leaf
drawer: tray, sliding box, compartment, pull-out
examples: instances, samples, illustrations, cases
goal: target, destination, mark, aim
motion: movement, path, course, move
mug: cup, beaker, tankard, drinking vessel
object: item, thing, article, piece
objects: items, things, articles, pieces
order: sequence, succession, arrangement, series
picture: image, photo, photograph, illustration
plate: dish, platter, saucer, disc
position: location, point, spot, coordinate
profile: outline, contour, silhouette, form
robot: machine, arm, manipulator, automaton
setup: arrangement, layout, configuration, constellation
shelf: rack, ledge, board, bookshelf
stone: piece, token, counter, disc
table: desk, worktop, tabletop, counter
texture: pattern, surface, finish, material
towel: cloth, rag, wipe, napkin
tray: platter, salver, board, plate
"""
# What may be said of a mark where a picture stands for a noun.
_THING = ("item", "object", "thing", "article", "piece", "body", "unit", "element")
_PICTURE = ("picture", "image", "photo", "view", "photograph", "illustration", "drawing", "snapshot")
_OF_A_SCENE = re.compile(r"\{(scene|frame|before|after)")

FEW_ALTERNATIVES = 4  # a noun has so many

_MARKS = re.compile(r"(\{\w+\})")
_LETTERS = re.compile(r"[^\W\d_]+")


def translation(language: str, rng: Rng) -> Filter:
    """Word by word in another language; marks, numbers and unknown words stay."""
    if language == TRANSLATIONS[0]:
        return lambda text: text
    table = {word: others[LANGUAGES.index(language)] for word, others in _TABLE.items()}
    return lambda text: _outside_marks(text, lambda part: _replaced(part, lambda word, _: table.get(word)))


def synonyms(number: int, rng: Rng) -> Filter:
    """Every noun by another that means the same; from the fifth on, and where no noun is known, one for each mark."""

    def apply(text: str) -> str:
        if not number:
            return text
        reworded = _outside_marks(text, lambda part: _replaced(part, lambda noun, n: _synonym(noun, number, n)))
        return reworded if reworded != text and number <= FEW_ALTERNATIVES else _MARKS.sub(_introduced, reworded)

    def _introduced(mark: re.Match[str]) -> str:
        words = _PICTURE if _OF_A_SCENE.match(mark[0]) else _THING
        return f"{words[number - 1]} {mark[0]}"

    return apply


def _synonym(noun: str, number: int, before: int) -> str | None:
    """The numbered one; nouns of one text go through theirs in different steps, so that eight texts differ."""
    choices = _NOUNS.get(noun)
    step = 1 if number <= FEW_ALTERNATIVES else 2
    return choices[(number - 1 + step * before) % FEW_ALTERNATIVES] if choices else None


def _outside_marks(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if i % 2 else change(part) for i, part in enumerate(_MARKS.split(text)))


def _replaced(text: str, other: Callable[[str, int], str | None]) -> str:
    """Each word by another, if there is one; a capital stays one. `other` also hears how many it has replaced."""
    count = 0

    def one(found: re.Match[str]) -> str:
        nonlocal count
        word = other(found[0].lower(), count)
        if word is None:
            return found[0]
        count += 1
        return word[:1].upper() + word[1:] if found[0][:1].isupper() else word

    return _LETTERS.sub(one, text)


def _read_translations() -> dict[str, tuple[str, ...]]:
    rows = (line.split() for line in _TRANSLATIONS.strip().splitlines())
    return {word: tuple(other.replace("_", " ") for other in others) for word, *others in rows}


def _read_synonyms() -> dict[str, tuple[str, ...]]:
    rows = (line.partition(":") for line in _SYNONYMS.strip().splitlines())
    return {noun: tuple(other.strip() for other in others.split(",")) for noun, _, others in rows}


_TABLE: Mapping[str, tuple[str, ...]] = _read_translations()
_NOUNS: Mapping[str, tuple[str, ...]] = _read_synonyms()
